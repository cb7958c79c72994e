# bash loads this when `sessctl` is first completed; the program then answers itself, with sessions by id and title.
source <(COMPLETE=bash sessctl)

# fish loads this when `sessctl` is first completed; the program then answers itself, with sessions by id and title.
COMPLETE=fish sessctl | source

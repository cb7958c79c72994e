_complete_PROGRAM() {
    local line=${COMP_LINE:0:COMP_POINT} words=() last=-1 at piece
    # What follows without a blank is a part of the word before it.
    for ((at = 0; at <= COMP_CWORD; at++)); do
        piece=${COMP_WORDS[at]}
        # Behind a mark that splits, what is completed is still empty.
        [[ $at -eq $COMP_CWORD && ! $piece =~ ^[=:]+$ ]] && piece=$2
        if ((last < 0)) || [[ $line == [[:blank:]]* ]]; then
            words[++last]=$piece
        else
            words[last]+=$piece
        fi
        line=${line#"${line%%[![:blank:]]*}"}
        line=${line#"$piece"}
    done
    # What stands in front of the piece that is replaced is there already.
    local whole=${words[last]} value help quote=
    local front=${whole%"$2"}
    [[ ${COMP_WORDS[COMP_CWORD]} == [\'\"]* ]] && quote=yes
    words[last]=${whole//\\/}
    local IFS=$'\013' found=() shown=() widest=0
    # Words read so are not taken for patterns of files.
    read -r -d '' -a found < <(VARIABLE=bash COMPLETER -- "${words[@]}" 2>/dev/null)
    COMPREPLY=()
    for value in "${found[@]}"; do
        help=${value#*$'\t'} value=${value%%$'\t'*}
        value=${value#"$front"}
        [[ -z $value ]] && continue
        shown+=("$value$IFS$help")
        ((${#value} > widest)) && widest=${#value}
        [[ -z $quote && $value == *[[:space:]\'\"\\\$\`\&\;\|\<\>\(\)\*\?\[]* ]] && printf -v value %q "$value"
        COMPREPLY+=("$value")
    done
    if ((${#COMPREPLY[@]} == 1)); then
        [[ ${COMPREPLY[0]} == *[=/:] ]] && compopt -o nospace 2>/dev/null
    elif [[ $COMP_TYPE == 63 ]]; then
        # Only a list for people is asked for.
        for at in "${!shown[@]}"; do
            value=${shown[at]%%"$IFS"*} help=${shown[at]#*"$IFS"}
            [[ -n $help ]] && printf -v value '%-*s  (%s)' "$widest" "$value" "$help"
            COMPREPLY[at]=${value:0:${COLUMNS:-80}-2}
        done
    fi
    return 0
}
complete -o bashdefault -o nosort -F _complete_PROGRAM PROGRAM 2>/dev/null ||
    complete -o bashdefault -F _complete_PROGRAM PROGRAM

import { type CompletedFlag, type CompletionModel, flagValues } from './completion-model.ts'
import { assignment, branches, listSessions, ownFlags, placeNames, quoted } from './shell-text.ts'
import { valueFunction } from './shell-text.ts'

/** The functions that are the same for all flags and commands. */
const zshFunctions = `__halting_sessions() {
  ${listSessions}
}

# $1: what candidates are; $2: the place whose words they are.
__halting_reply() {
  local word
  local -a listed found
  if [[ $1 == words ]]; then
    for word in \${=__halting_words}; do
      found=(\${(M)__halting_places:#\${2:+$2 }$word:*})
      listed+=("\${found[1]:-$word}")
    done
    # A part of a command is listed without the name of the command.
    [[ -n $2 ]] && listed=("\${listed[@]#$2 }")
    _describe -t words word listed
  fi
  [[ $1 == sessions* ]] && compadd -- \${(f)"$(__halting_sessions)"}
  [[ $1 == *files ]] && _files
  [[ $1 == folders ]] && _files -/
  return 0
}

_halting() {
  local place='' flag='' word
  integer i=2 next operands=0
  while (( i < CURRENT )); do
    word=$words[i]
    if [[ $word == -- ]]; then
      return 0
    elif [[ $word == -* && $word != -*=* ]]; then
      __halting_value "$place" "$word"
      if [[ -n $__halting_kind ]]; then
        (( next = i + 1 ))
        if (( next == CURRENT )); then
          flag=$word
          break
        fi
        [[ -n $__halting_optional && $words[next] == -* ]] || (( i = next ))
      fi
    elif [[ $word != -* ]]; then
      if (( operands == 0 )) && __halting_is_place "\${place:+$place }$word"; then
        place="\${place:+$place }$word"
      else
        (( operands += 1 ))
      fi
    fi
    (( i += 1 ))
  done
  if [[ -z $flag && $words[CURRENT] == -*=* ]]; then
    __halting_value "$place" "\${words[CURRENT]%%=*}"
    compset -P '*='
    __halting_reply "$__halting_kind" none
    return
  fi
  if [[ -n $flag && ! ( -n $__halting_optional && $words[CURRENT] == -* ) ]]; then
    __halting_reply "$__halting_kind" none
    return
  fi
  __halting_place "$place"
  if [[ $words[CURRENT] == -* ]]; then
    _describe -o -t flags flag __halting_flags
  elif [[ $__halting_kind != words ]] || (( operands == 0 )); then
    __halting_reply "$__halting_kind" "$place"
  fi
}

if [[ \${zsh_eval_context[-1]-} == loadautofunc ]]; then
  _halting "$@"
elif (( \${+functions[compdef]} )); then
  compdef _halting halting
fi
`

/** Generates the completion script for zsh. */
export function zshScript(model: CompletionModel): string {
  const [runs] = model.commands
  const places = model.commands.map((command) => {
    const { own, hasRuns } = ownFlags(command, model)
    const flags = command.name === '' ? '$__halting_runs' : `${quotedFlags(own)}${hasRuns ? ' $__halting_runs' : ''}`
    return [command.name, `__halting_flags=(${flags}); ${assignment(command.words)}`] as const
  })
  const meanings = model.commands
    .filter(({ name }) => name !== '')
    .map(({ name, meaning }) => quoted(`${name}:${meaning}`))
  return `#compdef halting
# Completion of halting for zsh. In ~/.zshrc, after compinit: eval "$(halting completion zsh)"

typeset -ga __halting_runs __halting_places __halting_flags
typeset -g __halting_kind __halting_words __halting_optional
__halting_runs=(${quotedFlags(runs?.flags ?? [])})
__halting_places=(${meanings.join(' ')})

${valueFunction(flagValues(model))}
# $1: the place, such as 'sessions show'. Sets __halting_flags, and of what its words are.
__halting_place() {
  __halting_flags=() __halting_kind='' __halting_words=''
  case "$1" in
${branches(places, '    ')}  esac
}

__halting_is_place() {
  case "$1" in
${branches(
  placeNames(model).map((name) => [name, 'return 0']),
  '    ',
)}  esac
  return 1
}

${zshFunctions}`
}

function quotedFlags(flags: readonly CompletedFlag[]): string {
  return flags.flatMap(({ names, meaning }) => names.map((name) => quoted(`${name}:${meaning}`))).join(' ')
}

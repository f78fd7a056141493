import { type CompletionModel, flagValues } from './completion-model.ts'
import { assignment, branches, listSessions, ownFlags, placeNames, quoted } from './shell-text.ts'
import { valueFunction } from './shell-text.ts'

/** The functions that are the same for all flags and commands. */
const bashFunctions = `__halting_sessions() {
  ${listSessions}
}

# $1: what candidates are; $2: the word as far as it is written.
__halting_reply() {
  local line
  case "$1" in
    words) while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -W "$__halting_words" -- "$2") ;;
  esac
  case "$1" in
    sessions*) while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -W "$(__halting_sessions)" -- "$2") ;;
  esac
  case "$1" in
    *files)
      type compopt >/dev/null 2>&1 && compopt -o filenames 2>/dev/null
      while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "$2")
      ;;
    folders)
      type compopt >/dev/null 2>&1 && compopt -o filenames 2>/dev/null
      while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -d -- "$2")
      ;;
  esac
}

_halting() {
  local current="\${COMP_WORDS[COMP_CWORD]}" place='' flag='' word i=1 next operands=0 line
  COMPREPLY=()
  while [ "$i" -lt "$COMP_CWORD" ]; do
    word=\${COMP_WORDS[i]}
    case "$word" in
      --) return 0 ;;
      -*)
        __halting_value "$place" "$word"
        if [ -n "$__halting_kind" ]; then
          next=$((i + 1))
          # bash parts --flag=value at the equals sign.
          [ "\${COMP_WORDS[next]-}" = '=' ] && next=$((next + 1)) && __halting_optional=''
          if [ "$next" -ge "$COMP_CWORD" ]; then
            flag=$word
            [ "$current" = '=' ] && current=''
            break
          fi
          case "$__halting_optional\${COMP_WORDS[next]}" in
            1-*) ;;
            *) i=$next ;;
          esac
        fi
        ;;
      *)
        if [ "$operands" -eq 0 ] && __halting_is_place "\${place:+$place }$word"; then place="\${place:+$place }$word"; else operands=$((operands + 1)); fi
        ;;
    esac
    i=$((i + 1))
  done
  if [ -n "$flag" ]; then
    case "$__halting_optional$current" in
      1-*) ;;
      *)
        __halting_reply "$__halting_kind" "$current"
        return 0
        ;;
    esac
  fi
  __halting_place "$place"
  case "$current" in
    -*) while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -W "$__halting_flags" -- "$current") ;;
    *)
      [ "$__halting_kind" = words ] && [ "$operands" -gt 0 ] && return 0
      __halting_reply "$__halting_kind" "$current"
      ;;
  esac
}

complete -F _halting halting
`

/** Generates the completion script for bash, 3.2 and later. */
export function bashScript(model: CompletionModel): string {
  const [runs] = model.commands
  const namesOf = (flags: readonly { readonly names: readonly string[] }[]): string =>
    flags.flatMap(({ names }) => names).join(' ')
  const places = model.commands.map((command) => {
    const { own, hasRuns } = ownFlags(command, model)
    const flags = command.name === '' || !hasRuns ? namesOf(own) : `${namesOf(own)} $__halting_runs`
    return [command.name, `__halting_flags="${flags}" ${assignment(command.words)}`] as const
  })
  return `# Completion of halting for bash. In ~/.bashrc: eval "$(halting completion bash)"

__halting_runs=${quoted(namesOf(runs?.flags ?? []))}

${valueFunction(flagValues(model))}
# $1: the place, such as 'sessions show'. Sets __halting_flags, and of what its words are.
__halting_place() {
  __halting_flags='' __halting_kind='' __halting_words=''
  case "$1" in
${branches(
  places.map(([name, body]) => [
    name,
    name === '' ? body.replace(/__halting_flags="[^"]*"/, '__halting_flags=$__halting_runs') : body,
  ]),
  '    ',
)}  esac
}

__halting_is_place() {
  case "$1" in
${branches(
  placeNames(model).map((name) => [name, 'return 0']),
  '    ',
)}  esac
  return 1
}

${bashFunctions}`
}

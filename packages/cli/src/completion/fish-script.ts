import { type Candidates, type CompletedFlag, type CompletionModel, flagValues } from './completion-model.ts'
import { listSessions, ownFlags, placeNames } from './shell-text.ts'

/** Functions that find the current command. They read the tables from variables of the script. */
const fishFunctions = `# Prints the place of the call, such as 'sessions show', and how many words follow it; '--' where only a prompt can follow.
function __halting_place
    set -l tokens (commandline -opc)
    set -e tokens[1]
    set -l place ''
    set -l operands 0
    set -l value ''
    for token in $tokens
        if test -n "$value"
            if not test "$value" = optional; or not string match -q -- '-*' $token
                set value ''
                continue
            end
            set value ''
        end
        switch $token
            case --
                echo --
                return
            case '-*=*'
            case '-*'
                if contains -- $token $__halting_values; or contains -- "$place $token" $__halting_values
                    set value value
                else if contains -- $token $__halting_optional_values; or contains -- "$place $token" $__halting_optional_values
                    set value optional
                end
            case '*'
                set -l candidate (string trim -- "$place $token")
                if test $operands -eq 0; and contains -- $candidate $__halting_places
                    set place $candidate
                else
                    set operands (math $operands + 1)
                end
        end
    end
    echo $place
    echo $operands
end

function __halting_at
    set -l found (__halting_place)
    test "$found[1]" = "$argv[1]"
end

function __halting_first
    set -l found (__halting_place)
    test "$found[1]" = "$argv[1]"; and test "$found[2]" = 0
end

`

/** Generates the completion script for fish, 3 and later. */
export function fishScript(model: CompletionModel): string {
  const [runs] = model.commands
  const values = flagValues(model)
  const spellings = (isOptional: boolean): string =>
    values
      .filter((each) => each.isOptional === isOptional)
      .map(({ of }) => quoted(of))
      .join(' ')
  const takingRuns = model.commands.filter((command) => ownFlags(command, model).hasRuns).map(({ name }) => name)
  const lines = model.commands.flatMap((command) => {
    const { own, hasRuns } = ownFlags(command, model)
    const at = `__halting_at ${quoted(command.name)}`
    const flags = command.name === '' || (hasRuns && own.length === 0) ? [] : own.map((flag) => flagLine(flag, at))
    return [...flags, ...wordLines(command.name, command.words, model)]
  })
  const runLines = (runs?.flags ?? []).map((flag) => flagLine(flag, '__halting_takes_runs'))
  return `# Completion of halting for fish: halting completion fish > ~/.config/fish/completions/halting.fish

${fishFunctions}function __halting_takes_runs
    set -l found (__halting_place)
    contains -- "$found[1]" ${takingRuns.map(quoted).join(' ')}
end

function __halting_sessions
    ${listSessions}
end

set -g __halting_values ${spellings(false)}
set -g __halting_optional_values ${spellings(true)}
set -g __halting_places ${placeNames(model).map(quoted).join(' ')}

complete -c halting -e
complete -c halting -f
${[...runLines, ...lines].join('\n')}
`
}

/** Quotes a text for fish with single quotes, so that nothing is expanded. */
function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}

function flagLine({ names, meaning, value }: CompletedFlag, condition: string): string {
  const spelled = names.map((name) => (name.startsWith('--') ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`))
  const valueText = value === undefined ? '' : ` ${valueArguments(value)}`
  return `complete -c halting -n ${quoted(condition)} ${spelled.join(' ')} -d ${quoted(meaning)}${valueText}`
}

function valueArguments(value: Candidates): string {
  switch (value.kind) {
    case 'text':
      return '-x'
    case 'files':
      return '-r -F'
    case 'folders':
      return "-x -a '(__fish_complete_directories)'"
    case 'sessions':
      return "-x -a '(__halting_sessions)'"
    case 'sessions or files':
      return "-r -F -a '(__halting_sessions)'"
    case 'words':
      return `-x -a ${quoted(value.words.join(' '))}`
  }
}

function wordLines(place: string, words: Candidates, { commands }: CompletionModel): readonly string[] {
  const at = `-n ${quoted(`__halting_at ${quoted(place)}`)}`
  switch (words.kind) {
    case 'text':
      return []
    case 'files':
      return [`complete -c halting ${at} -F`]
    case 'folders':
      return [`complete -c halting ${at} -a '(__fish_complete_directories)'`]
    case 'sessions':
      return [`complete -c halting ${at} -a '(__halting_sessions)'`]
    case 'sessions or files':
      return [`complete -c halting ${at} -F -a '(__halting_sessions)'`]
    case 'words':
      return words.words.map((word) => {
        const meaning = commands.find(({ name }) => name === `${place} ${word}`.trim())?.meaning ?? ''
        const description = meaning === '' ? '' : ` -d ${quoted(meaning)}`
        return `complete -c halting -n ${quoted(`__halting_first ${quoted(place)}`)} -a ${quoted(word)}${description}`
      })
  }
}

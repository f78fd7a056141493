import { type Action, actionNames, actions } from '../keys/actions.ts'
import { keyLabel } from '../keys/key-names.ts'
import type { AppContext } from '../app/context.ts'
import type { Command } from './command.ts'
import { indentedLines, namedTextLines } from '../../io/table.ts'

/** Keys that are the same in any editor, which the help does not list. */
const wellKnown: ReadonlySet<Action> = new Set<Action>([
  'cursorUp',
  'cursorDown',
  'cursorLeft',
  'cursorRight',
  'pageUp',
  'pageDown',
  'deleteLeft',
  'deleteRight',
])

const inputHint =
  '!COMMAND runs it and shows the output to the model; !!COMMAND only runs it. @PATH adds a file, @PATH#20-45 those lines.'
const workerInputHint = '@PATH adds a file of the worker, @PATH#20-45 those lines.'

/** `/help`; `/help keys`, and `?` on an empty line, list only the keys. */
export function helpCommand(
  listed: (
    app: AppContext,
  ) => readonly { readonly name: string; readonly command: Pick<Command, 'description' | 'argumentHint'> }[],
): Command {
  return {
    description: 'Show commands and keys',
    argumentHint: '[keys]',
    run(app, argument) {
      const customCommands = app.open?.commands ?? []
      app.printLines((width) => [
        ...(argument === 'keys' ? [] : commandLines(app, listed(app), customCommands, width)),
        app.style.bold('Keys'),
        ...namedTextLines(keyRows(app), width),
        ...indentedLines(app.cluster === undefined ? inputHint : workerInputHint, width).map(app.style.dim),
      ])
    },
  }
}

function commandLines(
  { style }: AppContext,
  listed: readonly { readonly name: string; readonly command: Pick<Command, 'description' | 'argumentHint'> }[],
  customCommands: NonNullable<AppContext['open']>['commands'],
  width: number,
): readonly string[] {
  const builtin = listed.map(
    ({ name, command }) => [`/${name} ${command.argumentHint ?? ''}`.trimEnd(), command.description] as const,
  )
  const files = customCommands.map(
    ({ name, description, argumentHint = '' }) => [`/${name} ${argumentHint}`.trimEnd(), description] as const,
  )
  return [
    style.bold('Commands'),
    ...namedTextLines(builtin, width),
    ...(files.length === 0 ? [] : [style.bold('Commands from files and servers'), ...namedTextLines(files, width)]),
  ]
}

function keyRows({ bindings }: AppContext): readonly (readonly [string, string])[] {
  return actionNames.flatMap((action) => {
    const keys = bindings.keysOf[action]
    if (wellKnown.has(action) || keys.length === 0) return []
    return [[keys.map(keyLabel).join(', '), actions[action].description] as const]
  })
}

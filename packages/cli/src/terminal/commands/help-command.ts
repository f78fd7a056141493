import { type Action, actionNames, actions } from '../keys/actions.ts'
import { shownKey } from '../keys/key-names.ts'
import type { AppContext } from '../app/context.ts'
import type { Command } from './command.ts'
import { linesAfter, rowsOf } from '../../io/rows.ts'

/** Keys that everybody knows from any editor are left out. */
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

const inLine =
  '!COMMAND runs it and shows the output to the model; !!COMMAND only runs it. @PATH adds a file, @PATH#20-45 those lines.'
const inLineOfWorker = '@PATH adds a file of the worker, @PATH#20-45 those lines.'

/** `/help`, and `?` on an empty line: the keys alone. */
export function helpCommand(
  listed: (
    app: AppContext,
  ) => readonly { readonly name: string; readonly command: Pick<Command, 'does' | 'argumentHint'> }[],
): Command {
  return {
    does: 'Show commands and keys',
    argumentHint: '[keys]',
    run(app, argument) {
      const written = app.open?.commands ?? []
      app.tell((width) => [
        ...(argument === 'keys' ? [] : commandLines(app, listed(app), written, width)),
        app.style.bold('Keys'),
        ...rowsOf(keyRows(app), width),
        ...linesAfter('  ', app.cluster === undefined ? inLine : inLineOfWorker, width).map(app.style.dim),
      ])
    },
  }
}

function commandLines(
  { style }: AppContext,
  listed: readonly { readonly name: string; readonly command: Pick<Command, 'does' | 'argumentHint'> }[],
  written: NonNullable<AppContext['open']>['commands'],
  width: number,
): readonly string[] {
  const own = listed.map(
    ({ name, command }) => [`/${name} ${command.argumentHint ?? ''}`.trimEnd(), command.does] as const,
  )
  const files = written.map(
    ({ name, description, argumentHint = '' }) => [`/${name} ${argumentHint}`.trimEnd(), description] as const,
  )
  return [
    style.bold('Commands'),
    ...rowsOf(own, width),
    ...(files.length === 0 ? [] : [style.bold('Commands from files and servers'), ...rowsOf(files, width)]),
  ]
}

function keyRows({ bindings }: AppContext): readonly (readonly [string, string])[] {
  return actionNames.flatMap((action) => {
    const keys = bindings.keysOf[action]
    if (wellKnown.has(action) || keys.length === 0) return []
    return [[keys.map(shownKey).join(', '), actions[action].does] as const]
  })
}

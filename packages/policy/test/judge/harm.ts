import { createPermissions, type RulePermissions } from '../../src/permissions/permissions.ts'
import { isReadOnlyCommand } from '../../src/shell/read-only.ts'
import { hardenedEnvironment } from '../../src/git/git-environment.ts'
import { isObeyed } from './protected-names.ts'
import { bashCall } from './support.ts'
import { canary, runAsOne, runMany, together, type World } from './world.ts'

/** Rules about the canaries in the project. */
const denied = ['Read(.env)', 'Edit(.env)', 'Read(secret/**)', 'Edit(secret/**)', 'Edit(package.json)']

/** Where commands are judged and run. Without rules they may show the project and, in acceptEdits, change it. */
export interface Trial {
  readonly world: World
  readonly hasRules: boolean
  /** The first folder of the search path. */
  readonly programs?: string
}

/** Commands that run without a question, without duplicates. */
export interface Allowed {
  readonly reading: readonly string[]
  readonly editing: readonly string[]
}

/** How commands are judged: in the default mode, and every twelfth in acceptEdits. */
export function judgeOf({ world, hasRules }: Trial): (command: string, at: number) => boolean {
  const deny = hasRules ? denied : []
  const plain = createPermissions({ cwd: world.project, deny })
  const edits = createPermissions({ cwd: world.project, deny, mode: 'acceptEdits' })
  return (command, at) => allows(at % 12 === 0 ? edits : plain, command)
}

function allows(permissions: RulePermissions, command: string): boolean {
  const decision = permissions.decide(bashCall(command))
  return !(decision instanceof Promise) && decision.behavior === 'allow'
}

export function byKind(commands: readonly string[]): Allowed {
  return {
    reading: commands.filter((command) => isReadOnlyCommand(command)),
    editing: commands.filter((command) => !isReadOnlyCommand(command)),
  }
}

export const pieces = <T>(list: readonly T[], size: number): readonly (readonly T[])[] =>
  Array.from({ length: Math.ceil(list.length / size) }, (_, at) => list.slice(at * size, (at + 1) * size))

/** git records in its index when a file was checked: `git diff` does so in any case. */
const exceptIndex = (changed: readonly string[]): readonly string[] =>
  changed.filter((path) => path !== 'project/.git' && path !== 'project/.git/index')

/** Changes that acceptEdits does not allow. `kept` is a folder of the project with a `.git`. */
function changedWrongly(changed: readonly string[], { hasRules }: Trial): readonly string[] {
  return exceptIndex(changed).filter(
    (path) =>
      !/^project(?:$|\/)/.test(path) ||
      isObeyed(path) ||
      (hasRules && /^project\/(?:\.env|secret|package\.json)/.test(path)),
  )
}

/** Runs allowed commands, and reports those that did harm. */
export async function findHarm({ reading, editing }: Allowed, trial: Trial): Promise<readonly string[]> {
  const { world, hasRules, programs } = trial
  const shows = (text: string): string =>
    (text.match(new RegExp(canary, 'g')) ?? []).find((found) => hasRules || found !== 'CANARY-DENIED') ?? ''
  const path: Readonly<Record<string, string>> =
    programs === undefined ? {} : { PATH: `${programs}:${process.env['PATH'] ?? '/usr/bin:/bin'}` }
  const env = { ...hardenedEnvironment(), ...path }
  const found: string[] = []
  await together(pieces(reading, 300), 2, async (commands) => {
    const { printed, changed } = await runAsOne(world, commands, env)
    if (exceptIndex(changed).length === 0 && shows(printed) === '') return
    // The harmful command is searched for one by one.
    const each = await runMany(world, commands, env)
    const guilty = each.flatMap((outcome, at) =>
      exceptIndex(outcome.changed).length > 0 || shows(outcome.printed) !== ''
        ? [`${commands[at]}   [${outcome.changed.join(' ')} ${shows(outcome.printed)}]`]
        : [],
    )
    const [line] = printed.split('\n').filter((text) => shows(text) !== '')
    found.push(...(guilty.length > 0 ? guilty : [`one of ${commands.length}: ${line ?? ''} ${changed.join(' ')}`]))
  })
  await together(pieces(editing, 100), 2, async (commands) => {
    for (const [at, { changed, printed }] of (await runMany(world, commands, path)).entries())
      if (changedWrongly(changed, trial).length > 0 || shows(printed) !== '')
        found.push(`${commands[at]}   [${changedWrongly(changed, trial).join(' ')} ${shows(printed)}]`)
  })
  return found
}

import type { PermissionRequest } from '@halting/core'
import { isJsonObject } from '@halting/core/adapters'
import type { EditConfinement } from '../sandbox/confinement.ts'
import { analyseShell } from '../shell/analysis.ts'
import { effectsOfCommand } from '../shell/read-only.ts'
import { whereaboutsOf } from './places.ts'
import { deniedPatterns } from './denied-patterns.ts'
import { namedByRules, ofRepositories } from './confine.ts'
import type { RuleBook } from './rule-book.ts'
import { asksOutside, needsNetwork, rewritesTree, runsBesideConversation } from './command-texts.ts'

/** Whether commands that no rule covers run confined to the workspace. */
export function canConfineEdits({ wall, mode }: Pick<RuleBook, 'wall' | 'mode'>): boolean {
  return mode === 'acceptEdits' && wall?.edits?.().kind === 'bubblewrap'
}

/** Why a command asks before it runs although it would be confined to the workspace; undefined when it runs. To be asked where `canConfineEdits`. */
export function editProblem({ call }: Pick<PermissionRequest, 'call'>, command: string): string | undefined {
  const input = isJsonObject(call.input) ? call.input : {}
  if (input['unconfined'] === true) return asksOutside
  if (input['run_in_background'] === true) return runsBesideConversation
  return commandProblem(command)
}

function commandProblem(command: string): string | undefined {
  for (const { words } of analyseShell(command).commands) {
    const [program, sub] = words.map(({ value }) => value)
    if (program === undefined) continue
    if (networkPrograms.has(program)) return needsNetwork(program)
    if (program === 'git' && sub !== undefined && treeRewriting.has(sub)) return rewritesTree(`git ${sub}`)
  }
  return undefined
}

const networkPrograms: ReadonlySet<string> = new Set('curl wget ssh scp rsync'.split(' '))
const treeRewriting: ReadonlySet<string> = new Set('reset checkout merge stash rebase pull'.split(' '))

/** To what such a command is confined. */
export function editConfinement(command: string, book: RuleBook): EditConfinement {
  const analysis = analyseShell(command)
  const whereabouts = whereaboutsOf(analysis, book.shellDirectory())
  const effects = analysis.commands.flatMap(effectsOfCommand)
  return {
    kind: 'edit',
    directories: book.directories,
    readable: [...book.readableFolders, ...namedByRules(book), ...ofRepositories(effects, whereabouts)],
    denied: deniedPatterns(book.deny),
    writesGit: false,
  }
}

// Holds R-RULE-7 of docs/spec.md: generated commands that run without a rule change nothing, run nothing else and show nothing that is not the project's.
import { createPermissions, type RulePermissions } from '@halting/agent'
import { afterAll, expect, test } from 'vitest'
import { isReadOnlyCommand } from '../../src/shell/read-only.ts'
import { environmentWithoutRule } from '../../src/tools/git-environment.ts'
import { isDeep } from '../support/deep.ts'
import { CommandMaker } from './fuzz-grammar.ts'
import { bashCall } from './support.ts'
import { canary, isBubblewrapThere, makeWorld, removeWorld, runAsOne, runMany, together } from './world.ts'

const count = Number(process.env['HALTING_FUZZ'] ?? (isDeep ? 3_000 : 300))
const seed = Number(process.env['HALTING_SEED'] ?? 1)
const world = makeWorld()
const outerHome = process.env['HOME']
afterAll(() => {
  removeWorld(world)
  process.env['HOME'] = outerHome
})

const deny = ['Read(.env)', 'Edit(.env)', 'Read(secret/**)', 'Edit(secret/**)', 'Edit(package.json)']

/** git notes in its index when a file was looked at: `git diff` does so whatever it is told. */
const exceptIndex = (changed: readonly string[]): readonly string[] =>
  changed.filter((path) => path !== 'project/.git' && path !== 'project/.git/index')

/** What changed that acceptEdits does not allow to change. `kept` is a folder of the project that holds a `.git`. */
function changedWrongly(changed: readonly string[]): readonly string[] {
  return exceptIndex(changed).filter(
    (path) => !/^project(?:$|\/)/.test(path) || /^project\/(?:\.|kept\/\.|secret|package\.json)/.test(path),
  )
}

interface Kept {
  readonly reading: readonly string[]
  readonly editing: readonly string[]
}

/** Those that run without a rule, each once. */
function letThrough(from: CommandMaker, many: number, seen: Set<string>): Kept & { readonly allowed: number } {
  const allows = (permissions: RulePermissions, command: string): boolean => {
    const decision = permissions.decide(bashCall(command))
    return !(decision instanceof Promise) && decision.behavior === 'allow'
  }
  const plain = createPermissions({ cwd: world.project, deny })
  const edits = createPermissions({ cwd: world.project, deny, mode: 'acceptEdits' })
  const kept = { reading: [] as string[], editing: [] as string[], allowed: 0 }
  for (let at = 0; at < many; at += 1) {
    const command = from.next()
    const isEdit = at % 12 === 0
    if (!allows(isEdit ? edits : plain, command)) continue
    kept.allowed += 1
    if (seen.has(command)) continue
    seen.add(command)
    if (isReadOnlyCommand(command)) kept.reading.push(command)
    else kept.editing.push(command)
  }
  return kept
}

const pieces = (list: readonly string[], size: number): readonly (readonly string[])[] =>
  Array.from({ length: Math.ceil(list.length / size) }, (_, at) => list.slice(at * size, (at + 1) * size))

/** Commands that did what they must not do. */
async function tripped({ reading, editing }: Kept): Promise<readonly string[]> {
  const found: string[] = []
  await together(pieces(reading, 300), 2, async (commands) => {
    const { printed, changed } = await runAsOne(world, commands, environmentWithoutRule())
    if (exceptIndex(changed).length === 0 && !canary.test(printed)) return
    // Which of them it was is looked for one by one.
    const each = await runMany(world, commands, environmentWithoutRule())
    const guilty = each.flatMap((outcome, at) =>
      exceptIndex(outcome.changed).length > 0 || canary.test(outcome.printed)
        ? [`${commands[at]}   [${outcome.changed.join(' ')} ${canary.exec(outcome.printed)?.[0] ?? ''}]`]
        : [],
    )
    const [line] = printed.split('\n').filter((text) => canary.test(text))
    found.push(...(guilty.length > 0 ? guilty : [`one of ${commands.length}: ${line ?? ''} ${changed.join(' ')}`]))
  })
  await together(pieces(editing, 100), 2, async (commands) => {
    for (const [at, { changed, printed }] of (await runMany(world, commands)).entries())
      if (changedWrongly(changed).length > 0 || canary.test(printed))
        found.push(`${commands[at]}   [${changedWrongly(changed).join(' ')} ${canary.exec(printed)?.[0] ?? ''}]`)
  })
  return found
}

test.skipIf(!isBubblewrapThere)(
  `${count} generated commands, and none of those that run without a rule does harm (needs bubblewrap)`,
  async () => {
    process.env['HOME'] = world.home
    const maker = new CommandMaker(seed)
    const seen = new Set<string>()
    const sum = { generated: 0, allowed: 0, run: 0 }
    const bad: string[] = []
    for (let left = count; left > 0; left -= 20_000) {
      const kept = letThrough(maker, Math.min(left, 20_000), seen)
      bad.push(...(await tripped(kept)))
      sum.generated += Math.min(left, 20_000)
      sum.allowed += kept.allowed
      sum.run += kept.reading.length + kept.editing.length
      if (count > 20_000)
        process.stderr.write(`${JSON.stringify({ ...sum, tripped: bad.length })} ${bad.slice(0, 5).join(' ;; ')}\n`)
    }
    console.log(
      `generated ${sum.generated}, let through ${sum.allowed}, of these different and run ${sum.run}, tripped ${bad.length}`,
    )
    expect(bad).toEqual([])
    expect(sum.allowed).toBeGreaterThan(count / 20)
  },
  // A million take two hours on a busy machine.
  4 * 3_600_000,
)

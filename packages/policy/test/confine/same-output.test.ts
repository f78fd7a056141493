// Holds R-WALL-2 of docs/spec: commands of daily use have the same output and exit code, confined or not.
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { createPermissions } from '../../src/permissions/permissions.ts'
import { hardenedEnvironment } from '../../src/git/git-environment.ts'
import { sampled } from '../support/deep.ts'
import { bashCall } from '../judge/support.ts'
import { makeWorld, removeWorld } from '../judge/world.ts'
import { allMeans, type Means, runLine } from './support.ts'

const world = makeWorld()
const outerHome = process.env['HOME']
// Links that lead outside, which do not matter for these commands.
for (const name of ['link', 'tree-out', 'out.txt', 'src/out.ts', 'chain', 'chain2', 'up', 'a=', 'x:'])
  rmSync(join(world.project, name), { recursive: true })
afterAll(() => {
  removeWorld(world)
  process.env['HOME'] = outerHome
})

/** Commands whose output differs each time, that wait, or that write their own settings. */
const changing =
  /\b(?:cargo|rustc|time|rg --json|date|uptime|ps|top|free|sleep|df|RANDOM|SECONDS|BASHPID|w|pgrep|lsof)\b|\$\$|tail -[fF]|xargs -P/

function commandsIn(file: string): readonly string[] {
  return readFileSync(new URL(file, import.meta.url), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !/^(?:\/\/|==|#)/.test(line))
    .map((line) => line.replaceAll('⏎', '\n'))
}

/** The commands that run confined, each with its readable files. */
function confined(
  means: Means,
): readonly { readonly command: string; readonly kind: 'read' | 'look'; readonly readable: readonly string[] }[] {
  process.env['HOME'] = world.home
  const permissions = createPermissions({ cwd: world.project, wall: { means: () => means, reads: () => false } })
  const all = new Set([...commandsIn('../judge/corpus/friction.txt'), ...commandsIn('daily.txt')])
  return [...all].flatMap((command) => {
    const decision = permissions.decide(bashCall(command))
    if (changing.test(command) || decision instanceof Promise || decision.behavior !== 'allow') return []
    const confinement = permissions.confinementOf({ callId: 'call_1', command })
    return confinement === undefined || confinement.kind === 'edit' || confinement.kind === 'trial'
      ? []
      : [{ command, ...confinement }]
  })
}

describe.skipIf(allMeans.length === 0)('Confined commands (needs Landlock or bubblewrap)', () => {
  test.each(allMeans.map((means) => [means.kind, means] as const))(
    'print the same output as unconfined ones: %s',
    async (kind, means) => {
      const { project: cwd, home } = world
      const all = confined(means)
      const commands = sampled(all, { deep: 12, quick: 30 })
      const env = { ...hardenedEnvironment(), TMPDIR: '/tmp', LANG: 'C.UTF-8' }
      // In a separate user namespace only this user has a name, and the parent folder differs.
      const asShown = (text: string): string =>
        kind === 'bubblewrap'
          ? text.replaceAll(/^(?:.* \.\.|total \d+)$/gm, '').replaceAll(/\b(?:root|nobody|nogroup)\b/g, 'user')
          : text
      // Ripgrep prints files in the order in which its threads find them.
      const shown = (text: string, command: string): string =>
        /\brg\b/.test(command) ? asShown(text).split('\n').toSorted().join('\n') : asShown(text)
      const differing: string[] = []
      for (const { command, ...confinement } of commands) {
        const [free, held] = await Promise.all([
          runLine(command, { cwd, home, env }),
          runLine(command, { means, cwd, home, env, ...confinement }),
        ])
        if (shown(free.output, command) !== shown(held.output, command) || free.exitCode !== held.exitCode)
          differing.push(`${command}\n${free.exitCode}: ${free.output}${held.exitCode}: ${held.output}`)
      }
      console.log(`${kind}: ${commands.length - differing.length} of ${commands.length} print the same`)
      expect(differing).toEqual([])
      expect(all.length).toBeGreaterThanOrEqual(200)
    },
    120_000,
  )
})

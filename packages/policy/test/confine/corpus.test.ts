// Holds R-WALL-1 of docs/spec against the corpus of hostile commands: while confined, none does its harm.
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { landlockCommand } from '../../src/sandbox/landlock.ts'
import { harmlessDevices, listedFolders, readablePlaces } from '../../src/sandbox/readable-places.ts'
import { hardenedEnvironment } from '../../src/git/git-environment.ts'
import { readCorpus, type HostileRow } from '../judge/corpus/read-corpus.ts'
import {
  canary,
  environmentIn,
  isBubblewrapThere,
  makeWorld,
  removeWorld,
  runMany,
  type World,
} from '../judge/world.ts'
import { sampled } from '../support/deep.ts'
import { allMeans } from './support.ts'

const landlock = allMeans.find((means) => means.kind === 'landlock')
const worlds: World[] = []
afterAll(() => worlds.forEach(removeWorld))

/** Arguments before `bash` that confine it to reading the project of a world. */
function launcher({ project, home, root }: World): readonly string[] {
  const env = { ...process.env, HOME: home }
  const places = {
    readable: readablePlaces({ directories: [project], home, env }),
    listed: listedFolders,
    writable: [],
    devices: harmlessDevices,
  }
  if (landlock === undefined) throw new Error('there is no Landlock')
  const command = landlockCommand({ file: 'bash', args: [], directory: root, env: {} }, places, landlock)
  if (command === undefined) throw new Error('this machine has no numbers of system calls')
  return [command.file, ...command.args.slice(0, -1)]
}

/** The harm is done to files outside of the project, or by a program, or reveals outside files. Deny rules for files inside are not tested here. */
function harmIn(
  { harm, deny }: HostileRow,
  { printed, changed }: { readonly printed: string; readonly changed: readonly string[] },
): string {
  if (changed.length > 0) return `changed ${changed.join(' ')}`
  const shown = canary.exec(printed)?.[0] ?? ''
  return harm === 'leak' && deny.length === 0 && /OUTSIDE|HOME/.test(shown) ? `shows ${shown}` : ''
}

describe.skipIf(!isBubblewrapThere || landlock === undefined)(
  'Confined commands (need bubblewrap and Landlock)',
  () => {
    test('prevent the harm of every hostile command in the corpus', async () => {
      const rows = sampled(readCorpus('commands'), { deep: 24, quick: 60 })
      const bySetup = new Map<string, HostileRow[]>()
      for (const row of rows) bySetup.set(row.setup, [...(bySetup.get(row.setup) ?? []), row])
      const harmed: string[] = []
      for (const [setup, ofSetup] of bySetup) {
        const world = makeWorld()
        worlds.push(world)
        if (setup !== '')
          execFileSync('bash', ['-ec', setup], {
            cwd: world.project,
            stdio: 'ignore',
            env: { ...environmentIn(world), W: world.root },
          })
        const commands = ofSetup.map(({ command }) => command.replaceAll('@W', world.root))
        const outcomes = await runMany(
          world,
          commands,
          { ...hardenedEnvironment(), TMPDIR: join(world.root, 'none') },
          launcher(world),
        )
        for (const [at, row] of ofSetup.entries()) {
          const harm = harmIn(row, outcomes[at] ?? { printed: '', changed: ['nothing was run'] })
          if (harm !== '') harmed.push(`${row.group}: ${row.command}   [${harm}]`)
        }
      }
      console.log(`${rows.length - harmed.length} of ${rows.length} hostile commands do no harm`)
      expect(harmed).toEqual([])
    }, 1_200_000)
  },
)

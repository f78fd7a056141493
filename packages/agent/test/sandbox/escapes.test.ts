// The sandbox against ways out of it (spec R-BOX-1 to R-BOX-8). Each is run for real, without the sandbox first where that harms nobody.
import { rmSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { isDeep } from '../support/deep.ts'
import { type Escape, escapes } from './escapes.ts'
import { isBubblewrapThere, isPythonThere, isRoot, makeWorld, processesNamed, shellIn, type World } from './world.ts'

const canRun = ({ needs }: Escape): boolean =>
  needs === undefined || (needs === 'python' ? isPythonThere : isRoot && isPythonThere)
/** Of these the numbers stand in the commands. */
const isKnownMachine = process.arch === 'x64'

function tidy({ victim }: World): void {
  for (const name of ['321.5', '321.75']) {
    for (const id of processesNamed(`sleep ${name}`).split('\n').filter(Boolean)) process.kill(Number(id), 'SIGKILL')
  }
  for (const folder of ['/tmp', '/dev/shm']) rmSync(`${folder}/halting-planted-${victim.pid}`, { force: true })
}

test('There are at least 40 of them, each with a name of its own', () => {
  expect(escapes.length).toBeGreaterThanOrEqual(40)
  expect(new Set(escapes.map(({ name }) => name)).size).toBe(escapes.length)
})

describe.skipIf(!isBubblewrapThere)('No way leads out of the sandbox (needs bubblewrap)', () => {
  // A sixth of them for somebody who waits.
  test.each(escapes.filter((escape, index) => canRun(escape) && isKnownMachine && (isDeep || index % 6 === 0)))(
    '$name',
    async (escape) => {
      // Where it would harm, or needs rights, it counts as shown.
      const free =
        escape.notShown === undefined ? await tried(escape, 'free') : { didWork: true, text: escape.notShown }
      expect(free.didWork, `without a sandbox: ${free.text}`).toBe(true)
      const { didWork, text } = await tried(escape, 'held')
      expect(didWork, `in the sandbox: ${text}`).toBe(false)
      expect(text).not.toContain('bwrap:')
    },
  )
})

async function tried({ command, worked }: Escape, held: 'held' | 'free'): Promise<{ didWork: boolean; text: string }> {
  const world = await makeWorld()
  const { text } = await (await shellIn(world, held)).run(command)
  const didWork = worked(world, text)
  tidy(world)
  return { didWork, text }
}

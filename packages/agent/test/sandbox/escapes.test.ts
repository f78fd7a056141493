// The sandbox against ways out of it (spec R-BOX-1 to R-BOX-8). Each is run for real, without the sandbox first where that harms nobody.
import { rmSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { isDeep, isWhole } from '../support/deep.ts'
import { type Escape, escapes } from './escapes.ts'
import { endNaps, isBubblewrapThere, isPythonThere, isRoot, makeWorld, napping, shellIn, type World } from './world.ts'

const canRun = ({ needs }: Escape): boolean =>
  needs === undefined || (needs === 'python' ? isPythonThere : isRoot && isPythonThere)
/** Their numbers appear in the commands. */
const isKnownMachine = process.arch === 'x64'

function tidy({ victim, nap }: World): void {
  endNaps(nap)
  for (const folder of ['/tmp', '/dev/shm']) rmSync(`${folder}/halting-planted-${victim.pid}`, { force: true })
}

test('There are at least 40 of them, each with a name of its own', () => {
  expect(escapes.length).toBeGreaterThanOrEqual(40)
  expect(new Set(escapes.map(({ name }) => name)).size).toBe(escapes.length)
})

test('Remaining processes are found by the world that started them: parallel tests end only their own', async () => {
  const [one, other] = [await makeWorld(), await makeWorld()]
  for (const world of [one, other]) await (await shellIn(world, 'free')).run('setsid sleep "$NAP" >/dev/null 2>&1 &')
  await expect.poll(() => [napping(one).length, napping(other).length]).toEqual([1, 1])
  tidy(one)
  await expect.poll(() => [napping(one).length, napping(other).length]).toEqual([0, 1])
  tidy(one)
})

describe.skipIf(!isBubblewrapThere)('Nothing escapes the sandbox (needs bubblewrap)', () => {
  // A sixth of them in quick runs, half of them in `.ci/run`.
  const oneIn = isWhole ? 1 : isDeep ? 2 : 6
  test.each(escapes.filter((escape, index) => canRun(escape) && isKnownMachine && index % oneIn === 0))(
    '$name',
    async (escape) => {
      // If it would harm, or needs privileges, it counts as demonstrated.
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

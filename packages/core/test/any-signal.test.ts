import { readdirSync, readFileSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test, vi } from 'vitest'
import { packages } from '../../../scripts/packages.mjs'
import { anySignal } from '../src/values/abort.ts'

setFlagsFromString('--expose-gc')
// Node exposes `gc` with this flag.
const collect = runInNewContext('gc') as () => void

test('aborts a combined signal by a timeout that nothing else references', async () => {
  const never = new AbortController().signal
  let aborted = 0
  for (let count = 0; count < 20; count++)
    anySignal([anySignal([never, AbortSignal.timeout(200)])]).addEventListener('abort', () => aborted++)
  await vi.waitFor(
    () => {
      collect()
      expect(aborted).toBe(20)
    },
    { interval: 20, timeout: 5_000 },
  )
})

test('is aborted from the start, with the same reason, when one of the signals is', () => {
  expect(anySignal([new AbortController().signal, AbortSignal.abort('why')])).toMatchObject({
    aborted: true,
    reason: 'why',
  })
})

test('all code combines signals with this one function', () => {
  const root = new URL('../../../packages/', import.meta.url)
  const others = packages
    .flatMap((name) =>
      readdirSync(new URL(`${name}/src/`, root), { recursive: true, encoding: 'utf8' }).map(
        (path) => `${name}/src/${path}`,
      ),
    )
    .filter((path) => path.endsWith('.ts') && path !== 'core/src/values/abort.ts')
    .filter((path) => readFileSync(new URL(path, root), 'utf8').includes('AbortSignal.any('))
  expect(others).toEqual([])
})

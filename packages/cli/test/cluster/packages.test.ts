// Holds rules of docs/spec: R-PROV-12, R-PROV-26a. Provider packages on a worker, which others choose models of.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { installPackage, tinyProvider } from '../../../agent/test/support/provider-packages.ts'
import { promptOnCluster } from '../../src/cluster/prompt.ts'
import type { Flags } from '../../src/flags/flags.ts'
import { servedCluster } from '../support/cluster.ts'
import { programInMemory } from '../support/program-in-memory.ts'

/** The outcome of a prompt for this model on a worker with a package that its owner named or did not name. */
async function prompted(model: string, { aiSdk, flags = {} }: { readonly aiSdk?: object; readonly flags?: Flags }) {
  const { base, url, close } = await servedCluster([], flags)
  onTestFinished(close)
  const own = join(dirname(base), '.halting')
  mkdirSync(own, { recursive: true })
  writeFileSync(join(own, 'settings.json'), JSON.stringify(aiSdk === undefined ? {} : { aiSdk }))
  installPackage(own, 'tiny', { source: tinyProvider })
  const folder = mkdtempSync(join(tmpdir(), 'halting-of-others-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const program = programInMemory({ cwd: folder, env: {} })
  program.stdin.end()
  const given: Flags = { print: true, cluster: url, admin: url, model }
  const status = await promptOnCluster(given, ['hi'], program)
  return { status, out: program.written() }
}

test.each([
  ['settings of the worker', { aiSdk: { packages: { tiny: {} } } }],
  ['a flag of the worker', { flags: { model: 'ai-sdk:tiny/other' } }],
])("loads a package for a client's session if it is named by %s", async (_by, how) => {
  const { status, out } = await prompted('ai-sdk:tiny/m', how)
  expect([status, JSON.parse(out)]).toEqual([0, expect.objectContaining({ modelId: 'm' })])
})

test.each([
  ['tiny', {}, /tiny is not loaded: on a cluster only packages are loaded that the worker names/],
  [
    'absent',
    { aiSdk: { packages: { absent: {} } } },
    /The package absent is not installed on \S+ .*npm install -g absent/,
  ],
])('loads no other package: %s', async (name, how, says) => {
  await expect(prompted(`ai-sdk:${name}/m`, how)).rejects.toThrow(says)
})

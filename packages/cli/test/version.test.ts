import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const bin = fileURLToPath(new URL('../bin/halting.js', import.meta.url))

function versionOf(directory: string): unknown {
  const text = readFileSync(new URL(`../../${directory}/package.json`, import.meta.url), 'utf8')
  // True: the assertion below fails on anything but the expected string.
  return (JSON.parse(text) as { version?: unknown }).version
}

test.each(['-v', '--version'])('%s prints the version in package.json', (flag) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [bin, flag], { encoding: 'utf8' })
  expect({ status, stdout, stderr }).toEqual({
    status: 0,
    stdout: `2.1.0 (halting ${String(versionOf('cli'))})\n`,
    stderr: '',
  })
})

test('has one version in all packages', () => {
  expect(['core', 'models', 'journal', 'telemetry', 'agent'].map(versionOf)).toEqual(Array(5).fill(versionOf('cli')))
})

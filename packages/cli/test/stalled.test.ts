// Holds a rule of docs/spec: R-END-10c: a program that waits for something that can never happen.
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

test('exits with 1 and says why, where Node would exit with 13 silently', () => {
  const folder = mkdtempSync(join(tmpdir(), 'halting-stalled-'))
  try {
    cpSync(fileURLToPath(new URL('../bin', import.meta.url)), join(folder, 'bin'), { recursive: true })
    mkdirSync(join(folder, 'dist'))
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
    const program = `(function (exports, require, module) { module.exports = { 'main.js': () => ({ main: () => new Promise(() => {}) }) } })`
    writeFileSync(join(folder, 'dist', 'start.cjs'), program)
    const { status, stdout, stderr } = spawnSync(process.execPath, [join(folder, 'bin/halting.js'), 'x'], {
      encoding: 'utf8',
      env: { HOME: folder, PATH: process.env['PATH'] },
    })
    expect({ status, stdout, stderr }).toEqual({
      status: 1,
      stdout: '',
      stderr: 'halting: it waited for something that can never come, and ends. Please report this.\n',
    })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

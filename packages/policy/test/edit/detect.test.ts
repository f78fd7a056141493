// Holds R-EWALL-1 of docs/spec.
import { chmodSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { detectEdits } from '../../src/sandbox/edit-detect.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { means } from './support.ts'

const path = process.env['PATH'] ?? ''

function folders(): { readonly home: string; readonly project: string; readonly bin: string } {
  const folder = temporaryFolder()
  const [home, project, bin] = ['home', 'project', 'bin'].map((name) => join(folder, name)) as [string, string, string]
  for (const one of [home, project, bin]) mkdirSync(one)
  return { home, project, bin }
}

/** A program called bwrap that prints something and fails. */
function failing(bin: string, text: string): string {
  writeFileSync(join(bin, 'bwrap'), `#!/bin/sh\necho "${text}" >&2\nexit 1\n`)
  chmodSync(join(bin, 'bwrap'), 0o755)
  return bin
}

describe.skipIf(process.platform !== 'linux')('detection of workspace confinement', () => {
  test.skipIf(means === undefined)('finds bubblewrap, and remembers it until the next boot', () => {
    const { home, project, bin } = folders()
    const memory = join(home, 'memory.json')
    expect(detectEdits({ path, directories: [project], home, memory })).toMatchObject({ kind: 'bubblewrap' })
    const stored = JSON.parse(readFileSync(memory, 'utf8')) as { circumstances: string }
    // It is not tested again: the program for the test would fail.
    const broken = failing(bin, 'No permissions to create a new namespace')
    const options = { path: broken, directories: [project], home, memory }
    expect(detectEdits(options)).toMatchObject({ kind: 'bubblewrap', file: join(bin, 'bwrap') })
    writeFileSync(memory, JSON.stringify({ ...stored, circumstances: `${stored.circumstances} other` }))
    expect(detectEdits(options)).toMatchObject({ kind: 'off' })
  })

  test.skipIf(means === undefined)('tests each directory', () => {
    const { home, project, bin } = folders()
    const memory = join(home, 'memory.json')
    detectEdits({ path, directories: [project], home, memory })
    const broken = failing(bin, 'No permissions to create a new namespace')
    expect(detectEdits({ path: broken, directories: [project, bin], home, memory })).toMatchObject({ kind: 'off' })
  })

  test('finds nothing if the home, the system or /tmp would be writable', () => {
    const { home, project } = folders()
    const whyOff = (directory: string): unknown => detectEdits({ path, directories: [project, directory], home })
    expect(whyOff(home)).toMatchObject({ kind: 'off', why: expect.stringContaining('contains your home folder') })
    expect(whyOff(join(home, '..'))).toMatchObject({
      kind: 'off',
      why: expect.stringContaining('contains your home folder'),
    })
    expect(whyOff('/')).toMatchObject({ kind: 'off', why: '/ contains system folders' })
    expect(whyOff('/tmp')).toMatchObject({ kind: 'off', why: 'other programs use /tmp' })
    symlinkSync(home, join(project, 'link'))
    expect(whyOff(join(project, 'link'))).toMatchObject({
      kind: 'off',
      why: expect.stringContaining('contains your home folder'),
    })
  })

  test.each([
    ['bwrap: No permissions to create a new namespace', /^bubblewrap is not allowed to make namespaces/],
    ['bwrap: setting up uid map: Permission denied', /^bubblewrap is not allowed to make namespaces/],
    [
      'bwrap: Creating new namespace failed: nesting depth or /proc/sys/user/max_*_namespaces exceeded (ENOSPC)',
      /^bubblewrap is not allowed to make namespaces/,
    ],
    ["bwrap: Can't mount proc on /newroot/proc: Operation not permitted", /\/proc of their own/],
    ['bwrap: something else', /^commands cannot be confined to this folder \(bwrap: something else\)$/],
  ])('%s: gives the reason in words', (text, why) => {
    const { home, project, bin } = folders()
    const found = detectEdits({ path: failing(bin, text), directories: [project], home })
    expect(found).toMatchObject({ kind: 'off', why: expect.stringMatching(why) })
  })

  test('accepts neither a missing bubblewrap nor one that commands could replace', () => {
    const { home, project, bin } = folders()
    expect(detectEdits({ path: bin, directories: [project], home })).toMatchObject({ why: 'bubblewrap is missing' })
    failing(project, '')
    expect(detectEdits({ path: project, directories: [project], home })).toMatchObject({
      why: 'the only bubblewrap is in a folder that commands can write',
    })
    expect(existsSync(join(project, 'bwrap'))).toBe(true)
  })
})

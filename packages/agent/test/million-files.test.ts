// Holds rules of docs/spec: R-HAND-6, R-HAND-6d, R-UNDO-2a: a folder of a million files gets an answer that is bounded and true, and takes no memory to speak of.
// With HALTING_DEEP=1 there are a hundred thousand, which is beyond every bound, too.
import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createPermissions } from '@halting/policy'
import { FileCheckpoints } from '@halting/agent'
import { gitSummary } from '../src/instructions/git-summary.ts'
import { unreadNames } from '../src/instructions/prompt-texts.ts'
import { filesCut, ignoredFiles, noMatches, tryIgnoringCase } from '../src/tools/search-texts.ts'
import { loadMentions } from '../src/instructions/mentions.ts'
import { bounded, many, manyFilesIn, placeForMany } from '../../policy/test/support/many-files.ts'
import { codingTools } from './support/harness.ts'

const base = placeForMany()

let cwd = ''

beforeAll(() => {
  if (base === undefined) return
  cwd = manyFilesIn(base)
}, 300_000)
afterAll(() => void (cwd !== '' && execFileSync('rm', ['-rf', cwd, `${cwd}-kept`])), 300_000)

const maxCharacters = 50_000

describe.runIf(base !== undefined)(`${many} files in a folder`, () => {
  const answer = async (tool: string, input: object) => {
    const { use } = codingTools({ searchMs: 600_000 }, { cwd })
    const { text, isError } = await bounded(() => use(tool, input))
    expect(text.length).toBeLessThanOrEqual(maxCharacters)
    return { text, isError }
  }

  test('Glob reports how many there are, and finds one', async () => {
    expect((await answer('Glob', { pattern: '*' })).text).toContain(filesCut(100, many))
    expect(await answer('Glob', { pattern: 'f77777' })).toEqual({ text: 'd/f77777', isError: false })
  })

  test('Grep searches them all', async () => {
    const hints = `${tryIgnoringCase}${ignoredFiles(() => true)}`
    const text = noMatches('nothing', cwd, '', hints)
    expect(await answer('Grep', { pattern: 'nothing' })).toEqual({ text, isError: false })
  })

  test('Read says that it is a folder, and that a file is missing', async () => {
    expect((await answer('Read', { file_path: 'd' })).text).toMatch(/is a directory/)
    expect((await answer('Read', { file_path: 'd/f0.txt' })).text).toMatch(/d\/f0\.txt does not exist\./)
  })

  test('Write and Bash work in it', async () => {
    expect((await answer('Write', { file_path: 'd/new.txt', content: 'new\n' })).isError).toBe(false)
    expect((await answer('Bash', { command: 'ls d' })).isError).toBe(false)
  })

  test('shows some names for a prompt that mentions it, and says that there are more', async () => {
    const { workspace } = codingTools({}, { cwd })
    const permissions = createPermissions({ cwd, mode: 'default', deny: ['Read(f5*)'] })
    const signal = new AbortController().signal
    const { blocks, notes } = await bounded(() => loadMentions('Look at @d', workspace, permissions, signal))
    const shown = JSON.stringify(blocks)
    expect(notes).toEqual([])
    expect(shown).toContain(unreadNames(10_000))
    expect(shown.length).toBeLessThan(5_000)
  })

  const kept = async (name: string) => {
    const folder = `${cwd}-kept`
    const checkpoints = new FileCheckpoints({ folder, cwd })
    const call = { callId: 'c', toolName: 'Bash', idempotencyKey: 'k/r/tool:0:0:c' }
    const command = async () => fs.writeFileSync(join(cwd, name), 'made')
    await bounded(() => checkpoints.aroundCommand(call, `touch ${name}`, command))
    await checkpoints.dispose()
    const [log = ''] = fs.readdirSync(folder).filter((file) => file.endsWith('.jsonl'))
    const lines = fs.readFileSync(join(folder, log), 'utf8').trimEnd().split('\n')
    fs.rmSync(folder, { recursive: true })
    // The purpose of this file: the last line is about the command.
    return JSON.parse(lines.at(-1) ?? '') as {
      readonly changes: readonly unknown[]
      readonly unseen: readonly string[]
    }
  }
  const notLookedAt = [expect.stringMatching(/^more than 20000 files are in /)]

  test("reports with a command's changes that not everything was inspected", async () => {
    const { changes, unseen } = await kept('made-1')
    expect(unseen).toEqual(notLookedAt)
    expect(changes.length).toBeLessThan(10)
  })

  describe('with git', () => {
    beforeAll(() => void execFileSync('git', ['init', '-q'], { cwd }))

    test('the briefing is a few lines', async () => {
      const summary = await bounded(() => gitSummary(cwd, process.env))
      // On a busy machine git does not answer in time.
      expect(summary?.length ?? 0).toBeLessThan(1_000)
    })

    test('reports with git, too, that not everything was inspected', async () => {
      const { changes, unseen } = await kept('made-2')
      expect(unseen).toEqual(notLookedAt)
      expect(changes.length).toBeLessThan(10)
    })
  })
})

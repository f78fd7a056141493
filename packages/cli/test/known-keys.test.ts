// Holds R-SECRET-6 of docs/spec: keys that the program uses are in no session, no output and no export.
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { call, filesBelow, here, installProgram, run, script } from './support/program.ts'

installProgram()

const folder = (): string => join(here(), '.halting')
beforeEach(() => rmSync(folder(), { recursive: true, force: true }))

/** Except for the previous contents of changed files, which `halting undo` restores (spec R-SECRET-4). */
const files = () => filesBelow(folder()).filter(([path]) => !path.includes('/files/contents/'))

const body = 'Zq7Xw3Vt9Ls2Kd5Mf8Hj4Ng6Pb1Rc0Y'

describe('keys that the program uses', () => {
  const key = `own-${body}/+x`
  const forms = [key, encodeURIComponent(key), Buffer.from(`user:${key}`).toString('base64'), JSON.stringify({ key })]
  const leaks = (text: string): boolean =>
    [...forms, body, Buffer.from(key).toString('base64').slice(4, -4)].some((form) => text.includes(form))

  test('are redacted in tool output and user text by default: in files, output and exports', async () => {
    writeFileSync(join(here(), 'env.txt'), forms.join('\n'))
    writeFileSync(join(here(), 'old.txt'), `KEY=${key}`)
    const replies = [
      { content: [call('Bash', { command: 'cat env.txt' }), call('Read', { file_path: 'env.txt' })] },
      { content: [call('Read', { file_path: 'old.txt' })] },
      { content: [call('Write', { file_path: 'old.txt', content: 'KEY=[REDACTED]' })] },
      { content: `The model may say it: ${key}` },
    ]
    const env = { OPENAI_API_KEY: key }
    const flags = ['--script', script(replies), '--output-format', 'stream-json', '--verbose']
    const asked = ['-p', `Is ${key} right?`, ...flags, '--permission-mode', 'bypassPermissions']
    const { status, stdout, stderr } = await run(asked, { env })
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    const { session_id: id } = JSON.parse(stdout.split('\n')[0] ?? '') as { readonly session_id: string }
    const exports = await Promise.all(
      ['jsonl', 'markdown', 'html'].map((format) => run(['sessions', 'export', id, '--format', format], { env })),
    )
    const inspected = await run(['inspect', id, '--output', 'page.html'], { env })
    expect([...exports.map((one) => one.status), inspected.status]).toEqual([0, 0, 0, 0])
    expect(exports[1]?.stdout).toContain('Is [REDACTED] right?')
    expect(stdout).toContain('contains secrets that were shown to you as [REDACTED]')
    const page = readFileSync(join(here(), 'page.html'), 'utf8')
    const written = files()
    expect(written.length).toBeGreaterThan(0)
    for (const text of [stdout, page, ...exports.map((one) => one.stdout), ...written.map(([, content]) => content)])
      expect(leaks(text) ? text : '').toBe('')
    // The file that the model saw redacted still contains its key.
    expect(readFileSync(join(here(), 'old.txt'), 'utf8')).toBe(`KEY=${key}`)
    const again = await run(['-p', 'go on', '--resume', id, '--script', script([{ content: 'Done.' }])], { env })
    expect(again).toMatchObject({ status: 0, stdout: expect.stringContaining('Done.') })
  })

  test('are redacted in exports of an older session', async () => {
    const replies = [{ content: [call('Read', { file_path: 'env.txt' })] }, { content: 'Done.' }]
    writeFileSync(join(here(), 'env.txt'), forms.join('\n'))
    const asked = ['-p', 'look', '--script', script(replies), '--output-format', 'json']
    const { stdout } = await run(asked, { env: {} })
    const { session_id: id } = JSON.parse(stdout) as { readonly session_id: string }
    const env = { ANTHROPIC_API_KEY: key }
    for (const format of ['jsonl', 'markdown', 'html']) {
      const out = (await run(['sessions', 'export', id, '--format', format], { env })).stdout
      expect([out.includes('[REDACTED]'), leaks(out)]).toEqual([true, false])
    }
    await run(['inspect', id, '--output', 'older.html'], { env })
    expect(leaks(readFileSync(join(here(), 'older.html'), 'utf8'))).toBe(false)
  })

  test('are redacted in all views of an older session, before texts are truncated', async () => {
    const replies = [
      { content: [{ ...call('Read', { file_path: 'none.txt' }), name: `Read-${key}` }] },
      { content: 'Done.' },
    ]
    const asked = ['-p', `${'p'.repeat(70)} ${key}`, '--script', script(replies), '--output-format', 'json']
    const { stdout } = await run(asked, { env: {} })
    const { session_id: id } = JSON.parse(stdout) as { readonly session_id: string }
    const env = { ANTHROPIC_API_KEY: key }
    const commands = [
      ['why', id],
      ['replay', id],
      ['report'],
      ['report', '--output-format', 'json'],
      ['report', '--format', 'html'],
      ['sessions', 'export', id, '--format', 'markdown'],
      ['sessions', 'export', id, '--format', 'html'],
      ['sessions'],
      ['sessions', '--output-format', 'json'],
      ['sessions', 'show', id],
      ['inspect', id, '--output', 'cut.html'],
    ]
    for (const command of commands) {
      const out = await run(command, { env })
      expect([command.join(' '), out.status, out.stdout.includes(body.slice(0, 6))]).toEqual([
        command.join(' '),
        0,
        false,
      ])
    }
    expect(readFileSync(join(here(), 'cut.html'), 'utf8')).not.toContain(body.slice(0, 6))
  })
})

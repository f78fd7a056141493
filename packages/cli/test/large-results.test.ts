// Holds rules of docs/spec: R-TOOL-18, R-KEEP-1, R-RULE-10: what the program does with a result that is too large to be shown whole.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { call, here, installProgram, linesOf, run, script, projectName } from './support/program.ts'

installProgram()

const sessionId = '3f2a8c1e-5b7d-4e9a-8c61-0d2b4f6a7e93'

test('stores a large result as a file of the session, which the agent may search and read without asking', async () => {
  const config = mkdtempSync(join(tmpdir(), 'halting-config-'))
  onTestFinished(() => rmSync(config, { recursive: true, force: true }))
  const directory = join(config, 'projects', projectName(here()), sessionId, 'tool-results')
  const replies = script([
    { content: [call('Bash', { command: 'seq 1 20000' })] },
    { content: [call('Grep', { pattern: '^12345$', path: directory, output_mode: 'content' })] },
    { content: [call('Bash', { command: `cat ${join(config, 'other')}` })] },
    { content: 'Found.' },
  ])
  const { status, stdout } = await run(
    [
      '-p',
      'hi',
      '--verbose',
      '--output-format',
      'stream-json',
      '--session-id',
      sessionId,
      '--script',
      replies,
      '--allowedTools',
      'Bash(seq *)',
    ],
    { env: { HALTING_CONFIG_DIR: config, BASH_MAX_OUTPUT_LENGTH: '1000000' } },
  )
  const whole = Array.from({ length: 20_000 }, (_, index) => index + 1).join('\n')
  const files = readdirSync(directory)
  expect([status, files.length, readFileSync(join(directory, files[0] ?? ''), 'utf8')]).toEqual([0, 1, whole])
  const results = linesOf(stdout).flatMap(({ type, message }) => {
    if (type !== 'user') return []
    const { content } = message as {
      readonly content: readonly { readonly content: string; readonly is_error?: true }[]
    }
    return content
  })
  const [shown = { content: '' }, found, denied] = results
  expect(shown.content.length).toBeLessThanOrEqual(50_000)
  expect(shown.content).toMatch(/^1\n2\n3\n[^]*19999\n20000$/)
  expect(shown.content).toContain(
    `The complete result (${whole.length} characters) is in ${join(directory, files[0] ?? '')}. Search it, or use Read with {"file_path":"${join(directory, files[0] ?? '')}","offset":`,
  )
  expect(found?.content).toContain('12345')
  expect([found?.is_error, denied?.is_error]).toEqual([undefined, true])
})

test('stores all output beyond the limit of Bash in a file that Read opens, and leaves nothing else', async () => {
  const config = mkdtempSync(join(tmpdir(), 'halting-config-'))
  onTestFinished(() => rmSync(config, { recursive: true, force: true }))
  const session = join(config, 'projects', projectName(here()), sessionId)
  const replies = script([{ content: [call('Bash', { command: 'seq 1 200000' })] }, { content: 'Done.' }])
  const args = [
    '-p',
    'hi',
    '--verbose',
    '--output-format',
    'stream-json',
    '--session-id',
    sessionId,
    '--script',
    replies,
  ]
  const { stdout } = await run([...args, '--allowedTools', 'Bash(seq *)'], { env: { HALTING_CONFIG_DIR: config } })
  const whole = Array.from({ length: 200_000 }, (_, index) => `${index + 1}\n`).join('')
  const [name = ''] = readdirSync(join(session, 'tool-results'))
  expect(readFileSync(join(session, 'tool-results', name), 'utf8')).toBe(whole)
  const user = linesOf(stdout).find(({ type }) => type === 'user')
  const text = JSON.stringify(user?.['message'])
  expect(text).toContain(`characters left out ...]`)
  expect(text).toContain(
    `[The complete output is in ${join(session, 'tool-results', name)}. Search it, or use Read with`,
  )
  expect(text.length).toBeLessThan(40_000)
  expect(readdirSync(session)).not.toContain('tool-output')
})

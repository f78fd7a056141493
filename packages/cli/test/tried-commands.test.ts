// Holds R-TRY-1, R-TRY-3 and R-TRY-5 to R-TRY-7 of docs/spec in `halting -p`.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { means } from '../../policy/test/trial/support.ts'
import { call, filesBelow, here, installProgram, linesOf, run, script, start } from './support/program.ts'

installProgram()

const on = JSON.stringify({ tryReadOnly: true })
const replies = (command: string): string => script([{ content: [call('Bash', { command })] }, { content: 'Done.' }])

function project(files: Readonly<Record<string, string>>): string {
  const folder = realpathSync(mkdtempSync(join(here(), 'tried-')))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  return folder
}

/** The outcome of `-p`, and what the model receives for its call. */
async function print(
  cwd: string,
  command: string,
  args: readonly string[],
): Promise<{ readonly result: object | undefined; readonly read: unknown }> {
  const format = ['--output-format', 'stream-json', '--verbose']
  const { stdout } = await run(['-p', 'hi', '--script', replies(command), ...format, ...args], { cwd })
  const lines = linesOf(stdout)
  const user = lines.find(({ type }) => type === 'user')
  return { result: lines.at(-1), read: user?.['message'] }
}

const asResult = (content: unknown): object => ({ content: [{ type: 'tool_result', content }] })

/** Processes that sleep for this many seconds. */
function sleepers(seconds: string): readonly string[] {
  return readdirSync('/proc').filter((name) => {
    try {
      return /^\d+$/.test(name) && readFileSync(`/proc/${name}/cmdline`, 'latin1').includes(`sleep\0${seconds}`)
    } catch {
      // It has just exited.
      return false
    }
  })
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 20))
}

describe.skipIf(means === undefined)('tryReadOnly (needs bubblewrap and overlays)', () => {
  test('runs a command without effects with -p, and denies one with effects, of which nothing is left', async () => {
    const cwd = project({ 'look.sh': 'cat data', 'write.sh': 'echo x >> data', data: 'text\n' })
    const looked = await print(cwd, 'bash look.sh', ['--settings', on])
    expect(looked.result).toMatchObject({ permission_denials: [], result: 'Done.' })
    expect(looked.read).toMatchObject(asResult('text'))
    const wrote = await print(cwd, 'bash write.sh', ['--settings', on])
    expect(wrote.result).toMatchObject({ permission_denials: [{ tool_name: 'Bash' }] })
    expect(wrote.read).toMatchObject(asResult(expect.stringContaining(`it writes ${cwd}/data`)))
    expect(readFileSync(join(cwd, 'data'), 'utf8')).toBe('text\n')
    expect((await print(cwd, 'bash look.sh', [])).result).toMatchObject({ permission_denials: [{ tool_name: 'Bash' }] })
  })

  test('asks a PermissionRequest hook if a trial did not decide a call, and not otherwise', async () => {
    const cwd = project({ 'look.sh': 'cat data', 'write.sh': 'echo x >> data', data: 'text\n' })
    const asked = join(cwd, '../asked')
    const answer = `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}`
    const hook = { type: 'command', command: `echo x >> ${asked}; echo '${answer}'` }
    const settings = JSON.stringify({ tryReadOnly: true, hooks: { PermissionRequest: [{ hooks: [hook] }] } })
    const looked = await print(cwd, 'bash look.sh', ['--settings', settings])
    expect([looked.read, existsSync(asked)]).toMatchObject([asResult('text'), false])
    const wrote = await print(cwd, 'bash write.sh', ['--settings', settings])
    expect(wrote.result).toMatchObject({ permission_denials: [] })
    expect([readFileSync(join(cwd, 'data'), 'utf8'), readFileSync(asked, 'utf8')]).toEqual(['text\nx\n', 'x\n'])
  })

  test('tries nothing if a PreToolUse hook asks', async () => {
    const cwd = project({ 'look.sh': 'cat data', data: 'text\n' })
    const answer = `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask"}}`
    const hooks = { PreToolUse: [{ hooks: [{ type: 'command', command: `echo '${answer}'` }] }] }
    const { result } = await print(cwd, 'bash look.sh', ['--settings', JSON.stringify({ tryReadOnly: true, hooks })])
    expect(result).toMatchObject({ permission_denials: [{ tool_name: 'Bash' }] })
  })

  test('is turned on by no file of a project', async () => {
    const cwd = project({ 'look.sh': 'cat data', data: 'text\n' })
    mkdirSync(join(cwd, '.halting'))
    for (const name of ['settings.json', 'settings.local.json']) writeFileSync(join(cwd, '.halting', name), on)
    expect((await print(cwd, 'bash look.sh', [])).result).toMatchObject({ permission_denials: [{ tool_name: 'Bash' }] })
  })

  test('leaves nothing after a kill during a trial: no change, no process, and no folder after the next run', async () => {
    const cwd = project({ 'slow.sh': 'echo x > made; rm data; sleep 3271', 'look.sh': 'cat data', data: 'text\n' })
    const before = filesBelow(cwd)
    const running = start(['-p', 'hi', '--script', replies('bash slow.sh'), '--settings', on], { cwd })
    await until(() => sleepers('3271').length > 0)
    running.child.kill('SIGKILL')
    await running.ended
    await until(() => sleepers('3271').length === 0)
    expect(filesBelow(cwd)).toEqual(before)
    await print(cwd, 'bash look.sh', ['--settings', on])
    expect(filesBelow(cwd)).toEqual(before)
    expect(readdirSync(here()).filter((name) => name.startsWith('halting-trial-'))).toEqual([])
  })
})

// Holds rules of docs/spec: R-LIM-40 to R-LIM-47: the status line of a person's command in the interactive program.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { folder, startApp } from './app-support.ts'

const hasJq = spawnSync('jq', ['--version']).status === 0

const writeSettings = (home: string, settings: object): void => {
  mkdirSync(join(home, '.halting'), { recursive: true })
  writeFileSync(join(home, '.halting', 'settings.json'), JSON.stringify(settings))
}
const place = (settings: object) => {
  const [cwd, home] = [folder('halting-app-'), folder('halting-home-')]
  writeSettings(home, settings)
  return { cwd, home }
}
const line = (command: string, more: object = {}) => ({ statusLine: { type: 'command', command, ...more } })
/** A command that prints fields of its input with a JSON reader. */
const showing = (expression: string): string =>
  `${process.execPath} -e 'let t="";process.stdin.on("data",(d)=>t+=d).on("end",()=>{const s=JSON.parse(t);console.log(${expression})})'`

describe('in the program', () => {
  test('appears above the status bar, which leaves out the model, and follows the session', async () => {
    const { terminal, say, settled } = await startApp({
      again: place(
        line(
          showing(
            '"<"+[s.model.id,s.permission_mode,s.figures.turns,s.cost.total_lines_added,s.context_window.total_input_tokens>0].join(" ")+">"',
          ),
        ),
      ),
      opensWith: '<scripted acceptEdits 0 0 false>',
      flags: { permissionMode: 'acceptEdits' },
      replies: [
        { content: ['x', { type: 'tool_use', name: 'Write', input: { file_path: 'a.txt', content: 'one\ntwo\n' } }] },
        { content: 'Written.' },
      ],
    })
    expect(terminal.shown()).toMatch(/\n <scripted acceptEdits 0 0 false>\n accepts edits · .*keys/)
    say('write')
    await terminal.waitFor('<scripted acceptEdits 2 2 true>')
    await settled()
    expect(terminal.shown()).not.toContain(' · scripted')
  })

  test('a failing command is reported once, and the status bar stays (R-LIM-45)', async () => {
    const { terminal, say, settled } = await startApp({
      again: place(line('echo half; echo no jq here >&2; exit 3')),
      opensWith: 'no jq here',
      replies: [{ content: 'One.' }, { content: 'Two.' }],
    })
    for (const text of ['first', 'second']) {
      say(text)
      await settled()
    }
    const all = terminal.all().join('\n')
    expect(all.match(/The statusLine command failed/g)).toHaveLength(1)
    expect(all.replaceAll(/\s+/g, ' ')).toContain('(exit code 3: no jq here). Showing the default line.')
    expect(all).not.toContain('half')
    expect(terminal.shown()).toMatch(/\n asks before changes · scripted · /)
  })

  test('runs again for refreshInterval, and when the width changes', async () => {
    const again = place(line('echo x >> runs; echo "run $(wc -l < runs), $COLUMNS wide"', { refreshInterval: 1 }))
    const { terminal } = await startApp({ again, opensWith: 'run 1, 80 wide' })
    terminal.resize(70, 24)
    await terminal.waitFor(/run \d+, 70 wide/)
    await terminal.waitFor(/run (?:[4-9]|\d\d), 70 wide/)
    expect(terminal.shown()).not.toContain('80 wide')
  })

  test.skipIf(!hasJq)('runs a script for Claude Code unchanged (needs jq)', async () => {
    const script = `#!/bin/bash
input=$(cat)
field() { jq -r "$1" <<< "$input"; }
model=$(field .model.display_name)
dir=$(field '.workspace.current_dir | split("/") | last')
percent=$(field '.context_window.used_percentage // 0' | cut -d. -f1)
printf '\\033[36m[%s]\\033[0m %s | %s%% ctx | $%.4f | +%s\\n' "$model" "$dir" "$percent" "$(field .cost.total_cost_usd)" "$(field .cost.total_lines_added)"
`
    const again = place(line('bash ~/.claude/statusline.sh', { padding: 0 }))
    mkdirSync(join(again.home, '.claude'))
    writeFileSync(join(again.home, '.claude', 'statusline.sh'), script)
    const { terminal, say } = await startApp({
      again,
      opensWith: `[scripted] ${basename(again.cwd)} | 0% ctx | $0.0000 | +0`,
      replies: [{ content: 'Done.' }],
    })
    say('go')
    await terminal.waitFor(/\[scripted\] \S+ \| [1-9]% ctx \| \$\d\.\d{4} \| \+0/)
    expect(terminal.shown()).not.toContain('failed')
  })

  test('runs once in an idle session', async () => {
    const again = place(line('echo x >> runs; echo "run $(wc -l < runs)"'))
    const { terminal } = await startApp({ again, opensWith: 'run 1' })
    await new Promise((resolve) => setTimeout(resolve, 700))
    expect(readFileSync(join(again.cwd, 'runs'), 'utf8')).toBe('x\n')
    expect(terminal.shown()).toContain(' run 1')
  })

  test('has no model keys, and is not recorded (R-LIM-46)', async () => {
    const again = place(line('echo "key <$ANTHROPIC_API_KEY> status-line-output"'))
    const {
      terminal,
      say,
      settled,
      sessions: opened,
    } = await startApp({
      again,
      opensWith: 'key <>',
      env: { ANTHROPIC_API_KEY: 'secret' },
      replies: [{ content: 'Done.' }],
    })
    say('go')
    await settled()
    expect(terminal.shown()).toContain('status-line-output')
    const record = readFileSync(opened[0]!.session.snapshot.file!, 'utf8')
    expect(record).toContain('Done.')
    expect(record).not.toMatch(/status-line-output|statusLine/)
  })

  test('is replaced by the status bar with disableAllHooks', async () => {
    const { terminal, cwd } = await startApp({
      again: place({ ...line('touch ran; echo mine'), disableAllHooks: true }),
    })
    await new Promise((resolve) => setTimeout(resolve, 500))
    expect(existsSync(join(cwd, 'ran'))).toBe(false)
    expect(terminal.shown()).toMatch(/\n asks before changes · scripted · /)
  })

  test.each([true, false])('of a project runs only in a trusted folder: %s (R-LIM-47)', async (isTrusted) => {
    const again = place({})
    writeSettings(again.cwd, line('echo of the project'))
    const { terminal } = await startApp({
      again,
      ...(isTrusted && { opensWith: ' of the project' }),
      env: isTrusted ? { HALTING_TRUST_FOLDER: '1' } : {},
    })
    if (isTrusted) return
    await new Promise((resolve) => setTimeout(resolve, 500))
    expect(terminal.shown()).not.toContain('of the project')
  })

  test('belongs to its session, and ends with it', async () => {
    const again = place(line(showing('"<"+s.session_id+">"')))
    const { terminal, say, sessions: opened } = await startApp({ again, opensWith: '<' })
    await terminal.waitFor(`<${opened[0]!.session.id}>`)
    say('/clear')
    while (opened.length < 2) await new Promise((resolve) => setTimeout(resolve, 10))
    await terminal.waitFor(`<${opened[1]!.session.id}>`)
    expect(terminal.shown()).not.toContain(`<${opened[0]!.session.id}>`)
  })
})

import { spawn } from 'node:child_process'
import { oneLine } from '../../io/figures.ts'
import { keptEntries } from '../app/kept-entries.ts'
import { transcriptLines } from '../pager/transcript.ts'
import { foldedLines, shownText } from '../view/lines.ts'
import type { AppContext } from '../app/context.ts'
import type { Command } from './command.ts'
import { fileOf } from './session-commands.ts'

const transcript: Command = {
  does: 'The whole conversation, with all results',
  async run(app) {
    const entries = await keptEntries(fileOf(app))
    const cwd = app.open?.session.snapshot.cwd ?? app.program.cwd
    app.page('The conversation', (width) => transcriptLines(entries, { width, style: app.style, cwd }), true)
  },
}

const history: Command = {
  does: 'Search in what was said before',
  async run(app) {
    const all = app.history.all.toReversed()
    if (all.length === 0) return app.note('Nothing was said before.')
    const chosen = await app.ask({
      title: 'Said before:',
      hint: 'letters narrow the list · Enter takes it into the editor · Esc',
      choices: all.map(({ text, cwd, at }) => ({
        value: text,
        label: oneLine(text, 200),
        detail: `${at.slice(0, 10)} ${cwd === app.program.cwd ? '' : cwd}`.trimEnd(),
        alsoFoundBy: text,
      })),
    })
    if (chosen !== undefined) app.editor.setText(chosen)
  },
}

const mostDiffBytes = 2_000_000

const diff: Command = {
  does: 'What is changed in the repository since the last commit',
  async run(app) {
    const cwd = app.open?.session.snapshot.cwd ?? app.program.cwd
    const text = await gitDiff(cwd, app.program.env)
    if (text === undefined) return app.note('git tells no changes here: this is no repository, or it has no commit.')
    if (text.trim() === '') return app.note('Nothing is changed since the last commit.')
    app.page('Changes since the last commit', (width) => diffTextLines(text, width, app), false)
  },
}

/** New files are told by their names. Nothing that the repository's own settings name is run. */
async function gitDiff(cwd: string, env: AppContext['program']['env']): Promise<string | undefined> {
  const safe = ['--no-pager', '-c', 'core.fsmonitor=false', '-c', 'core.hooksPath=/dev/null']
  const changes = await output([...safe, 'diff', '--no-ext-diff', '--no-textconv', '--no-color', 'HEAD'], cwd, env)
  if (changes === undefined) return undefined
  const others = await output([...safe, 'ls-files', '--others', '--exclude-standard'], cwd, env)
  return [changes, ...(others ?? '').split('\n').flatMap((name) => (name === '' ? [] : [`new file ${name}`]))].join(
    '\n',
  )
}

function output(args: readonly string[], cwd: string, env: AppContext['program']['env']): Promise<string | undefined> {
  return new Promise((resolve) => {
    const git = spawn('git', args, { cwd, env: { ...env }, stdio: ['ignore', 'pipe', 'ignore'], timeout: 10_000 })
    let text = ''
    git.stdout.setEncoding('utf8').on('data', (more: string) => {
      if (text.length < mostDiffBytes) text += more
      else git.kill()
    })
    git.once('error', () => resolve(undefined))
    git.once('close', (code) => resolve(code === 0 || text.length >= mostDiffBytes ? text : undefined))
  })
}

function diffTextLines(text: string, width: number, { style }: AppContext): readonly string[] {
  return shownText(text)
    .trimEnd()
    .split('\n')
    .flatMap((line) => {
      const isHead = /^(?:diff|index|---|\+\+\+|@@|new file)/.test(line)
      const paint = isHead
        ? style.bold
        : line.startsWith('+')
          ? style.green
          : line.startsWith('-')
            ? style.red
            : style.dim
      return foldedLines(line, width).map((part) => paint(part))
    })
}

const tasks: Command = {
  does: 'What goes on in the background; Enter stops it',
  async run(app) {
    const session = app.open?.session
    const running = session?.snapshot.tasks.filter(({ status }) => status === 'running') ?? []
    if (session === undefined || running.length === 0) return app.note('Nothing goes on in the background.')
    const id = await app.ask({
      title: 'In the background',
      hint: 'Enter stops it · Esc leaves it running',
      choices: running.map((task) => ({
        value: task.id,
        label: oneLine(task.description, 100),
        detail: `${task.kind} ${task.id}, since ${new Date(task.startedAtMs).toISOString().slice(11, 19)}`,
      })),
    })
    if (id === undefined) return
    app.note((await session.stopTask(id)) ? `Stopped: ${id}` : `${id} had ended already.`)
  },
}

export const lookCommands: { readonly [name in 'transcript' | 'history' | 'diff' | 'tasks']: Command } = {
  transcript,
  history,
  diff,
  tasks,
}

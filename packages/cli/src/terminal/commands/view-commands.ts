import { readOnlyGit } from '@halting/agent'
import { oneLine } from '../../io/figures.ts'
import { transcriptLines } from '../pager/transcript.ts'
import { foldedLines, displayText } from '../view/lines.ts'
import type { AppContext } from '../app/context.ts'
import type { Command } from './command.ts'
import { requireOpenSession } from './session-commands.ts'

const transcript: Command = {
  description: 'Show the whole conversation, with all results',
  async run(app) {
    const entries = await requireOpenSession(app).entries()
    const { style, cwd } = app
    app.page({
      title: 'The conversation',
      linesFor: (width) => transcriptLines(entries, { width, style, cwd }),
      startsAt: 'end',
    })
  },
}

const history: Command = {
  description: 'Search your earlier prompts',
  async run(app) {
    const all = app.history.all.toReversed()
    if (all.length === 0) return app.note('There are no earlier prompts.')
    const chosen = await app.ask({
      title: 'Earlier prompts:',
      hint: 'Enter insert · type to filter · Esc cancel',
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

const diffLimits = { maxBytes: 2_000_000, timeoutMs: 10_000 }

const diff: Command = {
  description: 'Show the changes since the last commit',
  needs: 'files',
  async run(app) {
    const text = await gitDiff(app.cwd, app.program.env)
    if (text === undefined) return app.note('No changes to show: this is not a git repository, or it has no commit.')
    if (text.trim() === '') return app.note('No changes since the last commit.')
    app.page({
      title: 'Changes since the last commit',
      linesFor: (width) => diffTextLines(text, width, app),
      startsAt: 'beginning',
    })
  },
}

/** The diff, with the names of new files; undefined if git reports nothing. */
async function gitDiff(cwd: string, env: AppContext['program']['env']): Promise<string | undefined> {
  const git = await readOnlyGit(cwd, env, diffLimits)
  // Within a submodule, git would follow the submodule's settings.
  const changes = await git([
    'diff',
    '--no-ext-diff',
    '--no-textconv',
    '--no-color',
    '--ignore-submodules=dirty',
    'HEAD',
  ])
  if (changes === undefined) return undefined
  const others = await git(['ls-files', '-z', '--others', '--exclude-standard'])
  const added = (others?.text ?? '').split('\0').filter((name) => name !== '')
  return [changes.text, ...added.map((name) => `new file ${oneLine(name, 300)}`)].join('\n')
}

function diffTextLines(text: string, width: number, { style }: AppContext): readonly string[] {
  return displayText(text)
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
  description: 'List background tasks; Enter stops one',
  async run(app) {
    const session = app.open?.session
    const running = session?.snapshot.tasks.filter(({ status }) => status === 'running') ?? []
    if (session === undefined || running.length === 0) return app.note('There are no background tasks.')
    const id = await app.ask({
      title: 'Background tasks',
      hint: 'Enter stop · type to filter · Esc cancel',
      choices: running.map((task) => ({
        value: task.id,
        label: oneLine(task.description, 100),
        detail: `${task.kind} ${task.id}, since ${new Date(task.startedAtMs).toISOString().slice(11, 19)}`,
      })),
    })
    if (id === undefined) return
    app.note((await session.stopTask(id)) ? `Stopped: ${id}` : `${id} had already ended.`)
  },
}

export const viewCommands: { readonly [name in 'transcript' | 'history' | 'diff' | 'tasks']: Command } = {
  transcript,
  history,
  diff,
  tasks,
}

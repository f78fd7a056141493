import { programMessageLines, many, oneLine } from '../../io/figures.ts'
import { UsageError } from '../../usage-error.ts'
import type { AppContext } from '../app/context.ts'
import { lastAnswerIn } from '../app/transcript-entries.ts'
import { fileOf } from '../app/open-session.ts'
import type { Program } from '../../program.ts'
import { copyableText } from '../screen/strip.ts'
import { foldedLines } from '../view/lines.ts'
import { captureOutput } from '../../io/capture-output.ts'
import type { Command } from './command.ts'
import { requireOpenSession } from './session-commands.ts'

// These commands print the output of the corresponding command of the shell program.

/** Runs a command of the program, and prints its output into the scrollback. */
async function printOutputOf(app: AppContext, run: (program: Program) => Promise<number>): Promise<void> {
  const capture = { width: app.screen.columns - 2, isStyled: app.theme.current !== 'none' }
  const { out, err } = await captureOutput(app.program, capture, run)
  if (out.trim() !== '') app.printLines((width) => wrappedOutput(out, width))
  for (const line of programMessageLines(err)) app.note(line)
}

/** Lines that fit, or have colours, stay unchanged, because they were produced for this width. */
function wrappedOutput(text: string, width: number): readonly string[] {
  const lines = text.trimEnd().split('\n')
  return lines.flatMap((line) => (line.length <= width || line.includes('\u001B') ? [line] : foldedLines(line, width)))
}

const why: Command = {
  description: 'Explain the last or current run: why it stopped, what it used',
  async run(app) {
    const { why: runCommand } = await import('../../why/why.ts')
    const open = requireOpenSession(app)
    const session = app.cluster === undefined ? fileOf(open.session.snapshot) : open.session.id
    await printOutputOf(app, (program) => runCommand(app.flags, [session], program))
  },
}

const memory: Command = {
  description: 'Show the loaded instructions and memory notes',
  argumentHint: '[show TOPIC | forget ID]',
  needs: 'settings',
  async run(app, argument) {
    const { memory: runCommand } = await import('../../memory/memory.ts')
    const [doing = 'list', ...words] = argument.split(/\s+/).filter(Boolean)
    if (doing === 'dream') throw new UsageError('halting memory dream asks a model. Run it in a shell.')
    for (const path of app.open?.local?.memoryFiles ?? []) app.note(`Read: ${path}`)
    await printOutputOf(app, (program) => runCommand(app.flags, [doing, ...words], program))
  },
}

const formats = { md: 'markdown', markdown: 'markdown', html: 'html', jsonl: 'jsonl' } as const

const exportCommand: Command = {
  description: 'Write the session to a file: .md, .html or .jsonl',
  needs: 'record',
  argumentHint: '[FILE]',
  async run(app, argument) {
    const path = fileOf(requireOpenSession(app).session.snapshot)
    const file = argument === '' ? `halting-${app.open?.session.id.slice(0, 8) ?? 'session'}.md` : argument
    const ending = /\.([a-z]+)$/i.exec(file)?.[1]?.toLowerCase() ?? ''
    const format = Object.entries(formats).find(([name]) => name === ending)?.[1]
    if (format === undefined)
      throw new UsageError(`The file name must end in .md, .html or .jsonl: "${oneLine(file, 80)}".`)
    const { exportSession } = await import('../../export/export.ts')
    await printOutputOf(app, (program) => exportSession({ ...app.flags, format, output: file }, path, program))
  },
}

const copy: Command = {
  description: 'Copy the last answer, or code block N of it',
  argumentHint: '[N]',
  async run(app, argument) {
    const lastAnswer = lastAnswerIn(await requireOpenSession(app).entries())
    if (lastAnswer === undefined) return app.note('There is no answer yet.')
    // The copied text must be equal to the visible text, without hidden characters.
    const answer = copyableText(lastAnswer)
    const blocks = [...answer.matchAll(/^(`{3,}|~{3,})[^\n]*\n([\s\S]*?)^\1/gm)].map(([, , code = '']) => code)
    const wanted = argument === '' ? answer : blocks[Number(argument) - 1]
    if (wanted === undefined)
      throw new UsageError(
        blocks.length === 0 ? 'The answer has no code block.' : `The answer has code blocks 1 to ${blocks.length}.`,
      )
    app.screen.copy(wanted)
    app.note(`Copied ${many(wanted.length, 'character')}, if this terminal supports copying by programs (OSC 52).`)
  },
}

const grade: Command = {
  description: 'Say whether the last run was good or bad, or show its grade',
  needs: 'record',
  argumentHint: '[good | bad | none]',
  values: () => ['good', 'bad', 'none'],
  async run(app, argument) {
    const { grade: runGrade } = await import('../../grade/grade.ts')
    const path = fileOf(requireOpenSession(app).session.snapshot)
    await printOutputOf(app, (program) => runGrade({}, [path, ...argument.split(/\s+/).filter(Boolean)], program))
  },
}

export const cliCommands: { readonly [name in 'why' | 'memory' | 'export' | 'copy' | 'grade']: Command } = {
  why,
  memory,
  export: exportCommand,
  copy,
  grade,
}

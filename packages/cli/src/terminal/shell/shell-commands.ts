import type { Style } from '../../io/style.ts'
import { hanging, headOfLines, tailOfLines, foldedLines } from '../view/lines.ts'
import type { Block, Component } from '../screen/screen-port.ts'
import { type ShellCommand, type CommandResult, runShellCommand } from './shell-command.ts'

/** Runs the shell commands of the person, one after another. */
export interface ShellCommands {
  /** The running command with the end of its output, and the waiting ones. */
  readonly live: Component
  readonly isRunning: boolean
  run(command: ShellCommand): void
  /** Ends the running command. Returns the lines of the waiting ones, which do not start. */
  stop(): readonly string[]
}

interface Options {
  readonly style: Style
  readonly place: () => { readonly cwd: string; readonly env: Readonly<Record<string, string | undefined>> }
  readonly print: (block: Block) => void
  readonly ended: (command: ShellCommand, result: CommandResult) => void
  readonly changed: () => void
}

const liveLines = 5
const printedLines = 40

export function createShellCommands({ style, place, print, ended, changed }: Options): ShellCommands {
  const waiting: ShellCommand[] = []
  let running: { readonly command: ShellCommand; tail: string; readonly controller: AbortController } | undefined
  const next = async (): Promise<void> => {
    const command = waiting.shift()
    if (running !== undefined || command === undefined) return
    const now = { command, tail: '', controller: new AbortController() }
    running = now
    changed()
    const result = await runShellCommand(command.command, {
      ...place(),
      signal: now.controller.signal,
      onOutput(text) {
        now.tail = (now.tail + text).slice(-4_000)
        changed()
      },
    })
    running = undefined
    print(resultBlock(command, result, style))
    ended(command, result)
    changed()
    void next()
  }
  return {
    live: {
      render(width) {
        if (running === undefined) return []
        const tail = foldedLines(running.tail.trimEnd(), width - 2)
        return [
          ...hanging('! ', running.command.command, width).map(style.bold),
          ...(running.tail.trim() === '' ? [] : tailOfLines(tail, liveLines, width - 2)).map((line) =>
            style.dim(`  ${line}`),
          ),
          ...waiting.flatMap(({ command }) => hanging('  then ! ', command, width).map(style.dim)),
        ]
      },
    },
    get isRunning() {
      return running !== undefined
    },
    run(command) {
      waiting.push(command)
      if (running === undefined) void next()
      changed()
    },
    stop() {
      running?.controller.abort()
      return waiting.splice(0).map(({ command, isForModel }) => `${isForModel ? '!' : '!!'}${command}`)
    },
  }
}

function resultBlock({ command, isForModel }: ShellCommand, { output, failed }: CommandResult, style: Style): Block {
  const mark = isForModel ? '! ' : '!! '
  return {
    render(width) {
      const lines = output.trim() === '' ? ['(no output)'] : foldedLines(output.trimEnd(), width - 2)
      return [
        ...hanging(mark, command, width).map(style.bold),
        ...headOfLines(lines, printedLines, width - 2).map((line) => style.dim(`  ${line}`)),
        ...(failed === undefined ? [] : [style.red(`  ${failed}`)]),
      ]
    },
  }
}

import type { SessionEvent } from '@halting/core/session'
import { messageOf } from '@halting/core/adapters'
import { versionOf } from '../../version.ts'
import type { Component } from '../screen/screen-port.ts'
import type { StatusLine } from '../status-line/index.ts'
import type { AppContext, OpenSession } from './context.ts'

/** The status line of the open session, if its settings have a command for one. */
export interface StatusLines {
  /** Whether a status line is shown. */
  readonly isShown: boolean
  /** Combines the output of the command with the program's own status bar below it. */
  above(bar: Component): Component
  show(open: OpenSession): void
  onEvent(event: SessionEvent): void
  /** Resolves when no process of the command is left. */
  close(): Promise<void>
}

export function createStatusLines(app: AppContext, now: () => number): StatusLines {
  let current: StatusLine | undefined
  let shown: OpenSession | undefined
  /** Status lines of earlier sessions that are closing. */
  const closing = new Set<Promise<void>>()

  function end(line: StatusLine | undefined): void {
    if (line === undefined) return
    const closed = line.close()
    closing.add(closed)
    void closed.finally(() => closing.delete(closed))
  }
  async function begin(open: OpenSession): Promise<void> {
    const { program, screen } = app
    const line = await open.local?.statusLine?.({
      projectDirectory: program.cwd,
      version: versionOf(program),
      size: () => ({ columns: screen.columns, rows: screen.rows }),
      changed: () => app.changed(),
      note: (text) => app.note(text),
      now,
    })
    if (shown === open) current = line
    else end(line)
  }
  return {
    get isShown() {
      return current?.isShown === true
    },
    above: (bar) => ({ render: (width) => [...(current?.render(width) ?? []), ...bar.render(width)] }),
    show(open) {
      end(current)
      ;[current, shown] = [undefined, open]
      begin(open).catch((thrown: unknown) => app.note(`statusLine: ${messageOf(thrown)}`))
    },
    onEvent: (event) => current?.onEvent(event),
    async close() {
      end(current)
      ;[current, shown] = [undefined, undefined]
      await Promise.all(closing)
    },
  }
}

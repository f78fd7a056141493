import type { SessionSnapshot } from '@halting/core/session'
import { columnsOf } from '../../io/columns.ts'
import { modeWords } from '../../frontends/mode-words.ts'
import type { Style } from '../../io/style.ts'
import type { Component } from '../screen/screen-port.ts'
import { oneLineOf } from './lines.ts'

export interface StatusInput {
  readonly snapshot: Pick<SessionSnapshot, 'status' | 'permissionMode' | 'model' | 'tasks'>
  /** `loop: round 3 of 10 in 9:12`; '' for no loop. */
  readonly loop?: string
  /** `main*`; '' where there is no repository. */
  readonly branch: string
  /** What the keys do now, the most needed first: `Esc stop`. */
  readonly keys: readonly string[]
  /** They stand before the model: where there is no room, it goes before they do. */
  readonly areKeysFirst?: boolean
  /** A command of the person says where one is: model and branch are left to it. */
  readonly isShort?: boolean
}

/** `accepts edits · sonnet-5.5 · main* · Esc stop · Enter steer`: mode first, keys go where there is no room (spec R-TERM-23). */
export function statusBar(input: () => StatusInput, style: Style): Component {
  return {
    render(width) {
      const { snapshot, branch, keys, loop = '', areKeysFirst = false, isShort = false } = input()
      const running = snapshot.tasks.filter(({ status }) => status === 'running').length
      const parts = [
        modeWords(snapshot.permissionMode).short,
        ...(loop === '' ? [] : [loop]),
        ...(areKeysFirst ? keys : []),
        // Of a session on a cluster it is known when a worker has it.
        ...(isShort || snapshot.model === '' ? [] : [snapshot.model]),
        ...(isShort || branch === '' ? [] : [branch]),
        ...(running === 0 ? [] : [`${running} in the background`]),
        ...(areKeysFirst ? [] : keys),
      ].map((part) => oneLineOf(part, 60))
      const fitting = parts.filter((_part, index) => columnsOf(parts.slice(0, index + 1).join(' · ')) < width)
      const shown = fitting.length === 0 ? oneLineOf(parts[0] ?? '', width - 1) : fitting.join(' · ')
      const isOpen = snapshot.permissionMode === 'bypassPermissions'
      return [` ${isOpen ? style.red(shown) : style.dim(shown)}`]
    },
  }
}

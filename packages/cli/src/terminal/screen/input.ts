import { StdinBuffer } from '@earendil-works/pi-tui/dist/stdin-buffer.js'
import { plainText } from './strip.ts'
import type { Timers } from './terminal-port.ts'

/** Splits terminal input into keys, pastes and reports. A paste is one piece between `pasteStart` and `pasteEnd`, without escape sequences in it. */
export interface Input {
  feed(data: string): void
  close(): void
}

export const pasteStart = '\u001B[200~'
export const pasteEnd = '\u001B[201~'

/** Bytes within this time after an escape belong to it; input methods and slow lines split sequences (spec R-TERM-9). */
const escapeMs = 50
/** A paste that contains its end marker continues within this time. */
const pasteMs = 25
/** A paste without input for this long has lost its end marker. */
const lostEndMs = 2_000

export function createInput(timers: Timers, take: (piece: string) => void): Input {
  const buffer = new StdinBuffer({ timeout: escapeMs })
  let pendingPaste: { paste: string; keys: string[] } | undefined
  let callOff = (): void => {}
  let callOffEnd = (): void => {}
  /** The last characters received, since a marker may arrive in two pieces. */
  let seam = ''
  let isInPaste = false

  const release = (): void => {
    callOff()
    if (pendingPaste === undefined) return
    const { paste, keys } = pendingPaste
    pendingPaste = undefined
    take(`${pasteStart}${plainText(withLineFeeds(paste))}${pasteEnd}`)
    for (const key of keys) takeKey(key)
  }
  const holdPaste = (paste: string): void => {
    pendingPaste = { paste, keys: [] }
    callOff = timers.after(pasteMs, release)
  }
  const takeKey = (key: string): void => {
    // Two escapes in one piece are the key pressed twice.
    if (key === '\u001B\u001B') {
      take('\u001B')
      take('\u001B')
    } else take(isTextBehindEscape(key) ? key.slice(1) : key)
  }
  buffer.on('paste', (paste) => {
    release()
    holdPaste(paste)
  })
  buffer.on('data', (key) => {
    if (pendingPaste === undefined) takeKey(key)
    else if (key === pasteEnd) {
      callOff()
      holdPaste(pendingPaste.paste + pendingPaste.keys.join(''))
    } else pendingPaste.keys.push(key)
  })
  return {
    feed(data) {
      callOffEnd()
      const recent = seam + data
      const [start, end] = [recent.lastIndexOf(pasteStart), recent.lastIndexOf(pasteEnd)]
      if (start >= 0 || end >= 0) isInPaste = start > end
      seam = recent.slice(1 - pasteStart.length)
      buffer.process(data)
      if (isInPaste) callOffEnd = timers.after(lostEndMs, () => this.feed(pasteEnd))
    },
    close() {
      callOffEnd()
      callOff()
      buffer.destroy()
    },
  }
}

/** Terminals paste line ends as the code of Enter. */
function withLineFeeds(paste: string): string {
  return paste.replaceAll(/\r\n?/g, '\n')
}

/** Whether the input is text from an input method that ended its composition with an escape, which is not a key press. */
function isTextBehindEscape(key: string): boolean {
  return key.startsWith('\u001B') && key.charCodeAt(1) > 0x7f
}

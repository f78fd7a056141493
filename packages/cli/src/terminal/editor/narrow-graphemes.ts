import type { Editor } from '@earendil-works/pi-tui/dist/components/editor.js'
import { visibleWidth } from '@earendil-works/pi-tui/dist/utils.js'

/** Columns of the widest single character, as the library counts: a tab. */
const widestCharacter = 3

/** The fewest columns that the editor may be given; it keeps one of them for the cursor. */
export const leastEditorWidth: number = widestCharacter + 1

/** What stands for a large paste is one piece on purpose; the library parts it itself where it is too wide. */
const pasteMarker = '[paste #'

/**
 * Has the editor take a grapheme that is wider than any character apart. The library never ends for one that is wider than a line: a wide character in a
 * narrow terminal, or a letter with as many vowel signs as somebody pastes in any terminal.
 */
export function takeWideGraphemesApart(editor: Editor): void {
  // The method that all of the editor's wrapping and moving goes through; it is private in the types alone.
  const inner = editor as unknown as { segment(text: string): Iterable<Intl.SegmentData> }
  const whole = inner.segment.bind(editor)
  inner.segment = (text) => narrow(whole(text))
}

function* narrow(segments: Iterable<Intl.SegmentData>): Generator<Intl.SegmentData> {
  for (const each of segments) {
    const { segment, input } = each
    // Two units are at most a wide character and a narrow one.
    if (segment.length <= 2 || segment.startsWith(pasteMarker) || visibleWidth(segment) <= widestCharacter) yield each
    else {
      let { index } = each
      for (const character of segment) {
        yield { segment: character, index, input }
        index += character.length
      }
    }
  }
}

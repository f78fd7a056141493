import type { AutocompleteProvider } from '@earendil-works/pi-tui/dist/autocomplete.js'
import { Editor } from '@earendil-works/pi-tui/dist/components/editor.js'
import type { Style } from '../../io/style.ts'
import { pasteEnd, pasteStart } from '../screen/input.ts'
import type { Component, Screen } from '../screen/screen-port.ts'
import { visibleWidth } from '@earendil-works/pi-tui/dist/utils.js'
import type { TUI } from '@earendil-works/pi-tui/dist/tui.js'

/** Columns of the widest single character, as the library counts: a tab. */
const widestCharacter = 3

/** The fewest columns that the editor may be given; it keeps one of them for the cursor. */
const leastEditorWidth: number = widestCharacter + 1

/** What stands for a large paste is one piece on purpose; the library parts it itself where it is too wide. */
const pasteMarker = '[paste #'

/**
 * Has the editor take a grapheme that is wider than any character apart. The library never ends for one that is wider than a line: a wide character in a
 * narrow terminal, or a letter with as many vowel signs as somebody pastes in any terminal.
 */
function takeWideGraphemesApart(editor: Editor): void {
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

/** Where a person writes. */
export interface PromptEditor {
  readonly component: Component
  /** As it was written: with what stands for large pastes in its place. */
  readonly text: string
  /** With the large pastes themselves. */
  readonly written: string
  readonly isEmpty: boolean
  /** A menu is open: Esc, arrows and Enter are for it. */
  readonly hasMenu: boolean
  /** Takes the place of what is there; undo brings it back. */
  setText(text: string): void
  /** Puts it before what is there, a line apart. */
  putBefore(texts: readonly string[]): void
  insert(text: string): void
  /** What is there, and the editor is empty. */
  take(): string
  remember(text: string): void
  setFocused(isFocused: boolean): void
}

interface EditorOptions {
  readonly screen: Screen
  readonly style: Style
  readonly onSubmit: (text: string) => void
  readonly onChange: () => void
  readonly completion: AutocompleteProvider
}

/** Marks a line that is a border: nobody can type it. */
const borderMark = '\u0000'
const sign = '> '

/** The library's editor parts all that it shows into graphemes for each frame: a million of them end the program. */
const mostShown = 10_000

/** The editor of the library between two lines, with our sign before its first one. */
export function promptEditor(options: EditorOptions): PromptEditor {
  return new LibraryPromptEditor(options)
}

class LibraryPromptEditor implements PromptEditor {
  readonly #style: Style
  readonly #screen: Screen
  readonly #editor: Editor
  readonly component: PromptEditor['component']

  constructor(options: EditorOptions) {
    ;({ style: this.#style, screen: this.#screen } = options)
    this.#editor = new Editor(
      editorHost(options.screen),
      {
        borderColor: (text) => borderMark + text,
        selectList: {
          selectedPrefix: this.#style.bold,
          selectedText: this.#style.bold,
          description: this.#style.dim,
          scrollInfo: this.#style.dim,
          noMatch: (text) => this.#plain(text),
        },
      },
      { autocompleteMaxVisible: 8 },
    )
    takeWideGraphemesApart(this.#editor)
    this.#editor.setAutocompleteProvider(options.completion)
    this.#editor.onSubmit = options.onSubmit
    this.#editor.onChange = options.onChange
    this.component = {
      render: (width) => {
        const hasSign = width - sign.length >= leastEditorWidth
        const room = hasSign ? width - sign.length : Math.max(leastEditorWidth, width)
        let isFirst = true
        return this.#editor.render(room).map((line) => {
          if (line.startsWith(borderMark)) return this.#style.dim(borderOf(line, width))
          const before = isFirst ? this.#style.bold(sign) : ' '.repeat(sign.length)
          isFirst = false
          return hasSign ? before + line : line
        })
      },
      handleInput: (data) => {
        const before = this.#editor.getText().length
        this.#editor.handleInput(data)
        // The history and undo bring texts back as they were.
        const text = this.#editor.getText()
        if (text.length > Math.max(mostShown, before + 1)) this.#setTexts([text])
        this.#changed()
      },
      invalidate: () => this.#editor.invalidate(),
    }
  }

  get text(): PromptEditor['text'] {
    return this.#editor.getText()
  }

  get written(): PromptEditor['written'] {
    return this.#editor.getExpandedText()
  }

  get isEmpty(): PromptEditor['isEmpty'] {
    return this.#editor.getText() === ''
  }

  get hasMenu(): PromptEditor['hasMenu'] {
    return this.#editor.isShowingAutocomplete()
  }

  setText(text: string): void {
    return this.#setTexts([text])
  }

  putBefore(texts: readonly string[]): void {
    if (texts.length > 0) this.#setTexts([...texts, this.#editor.getText()].filter((text) => text !== ''))
  }

  insert(text: string): void {
    this.#editor.insertTextAtCursor(text)
    this.#changed()
  }

  take(): string {
    const text = this.#editor.getExpandedText()
    this.#setTexts([''])
    return text
  }

  remember(text: string): void {
    return this.#editor.addToHistory(text)
  }

  setFocused(isFocused: boolean): void {
    this.#editor.focused = isFocused
  }

  #changed(): void {
    return this.#screen.requestFrame()
  }

  #plain(text: string): string {
    return text
  }

  /** Texts a line apart, in place of what is there. Long ones stand as pastes, which `written` has whole. */
  #setTexts(texts: readonly string[]): void {
    if (texts.every(({ length }) => length <= mostShown)) this.#editor.setText(texts.join('\n\n'))
    else {
      this.#editor.setText('')
      for (const [index, text] of texts.entries()) {
        if (index > 0) this.#editor.insertTextAtCursor('\n\n')
        if (text.length <= mostShown) this.#editor.insertTextAtCursor(text)
        else this.#editor.handleInput(pasteStart + text.replaceAll(pasteEnd, '') + pasteEnd)
      }
    }
    this.#changed()
  }
}

function borderOf(line: string, width: number): string {
  return line.replaceAll(borderMark, '').padEnd(width, '─').slice(0, width)
}

/** What components of the library, such as its editor, take for their root: they ask it for a frame, and how many rows there are. */
export function editorHost(screen: Screen): TUI {
  const host = {
    requestRender: () => screen.requestFrame(),
    terminal: {
      get rows() {
        return screen.rows
      },
      get columns() {
        return screen.columns
      },
    },
  }
  // `Editor` and `CancellableLoader` use nothing else of the class: it is a root of its own, which would write to the terminal beside the screen.
  return host as unknown as TUI
}

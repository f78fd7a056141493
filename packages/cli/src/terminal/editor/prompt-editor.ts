import type { AutocompleteProvider } from '@earendil-works/pi-tui/dist/autocomplete.js'
import { Editor } from '@earendil-works/pi-tui/dist/components/editor.js'
import type { Style } from '../../io/style.ts'
import { pasteEnd, pasteStart } from '../screen/input.ts'
import type { Component, Screen } from '../screen/screen-port.ts'
import { visibleWidth } from '@earendil-works/pi-tui/dist/utils.js'
import type { TUI } from '@earendil-works/pi-tui/dist/tui.js'

/** Width of the widest single character by the rules of the library: a tab. */
const widestCharacter = 3

/** The fewest columns that the editor needs; it reserves one for the cursor. */
const leastEditorWidth: number = widestCharacter + 1

/** The placeholder of a large paste is one segment on purpose; the library splits it where it is too wide. */
const pasteMarker = '[paste #'

/**
 * Makes the editor split graphemes that are wider than any single character. The library loops forever on one that is wider than a line:
 * a wide character in a narrow terminal, or a letter with many combining marks.
 */
function takeWideGraphemesApart(editor: Editor): void {
  // The private method behind all wrapping and cursor movement of the editor.
  const inner = editor as unknown as { segment(text: string): Iterable<Intl.SegmentData> }
  const whole = inner.segment.bind(editor)
  inner.segment = (text) => narrow(whole(text))
}

function* narrow(segments: Iterable<Intl.SegmentData>): Generator<Intl.SegmentData> {
  for (const each of segments) {
    const { segment, input } = each
    // Two UTF-16 units are at most a wide and a narrow character.
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

/** The editor for prompts. */
export interface PromptEditor {
  readonly component: Component
  /** The text with placeholders for large pastes. */
  readonly text: string
  /** The text with the large pastes themselves. */
  readonly fullText: string
  readonly isEmpty: boolean
  /** Whether a menu is open, which receives Esc, arrows and Enter. */
  readonly hasMenu: boolean
  /** Replaces the text; undo restores it. */
  setText(text: string): void
  /** Inserts texts before the current one, separated by empty lines. */
  putBefore(texts: readonly string[]): void
  insert(text: string): void
  /** Returns the text and clears the editor. */
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

/** Marks a border line; nobody can type it. */
const borderMark = '\u0000'
const sign = '> '

/** The library splits the visible text into graphemes for each frame, so a million of them would block the program. */
const maxShownLength = 10_000

/** The library's editor between two border lines, with a prompt sign before its first line. */
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
        // The history and undo may restore a long text.
        const text = this.#editor.getText()
        if (text.length > Math.max(maxShownLength, before + 1)) this.#setTexts([text])
        this.#changed()
      },
      invalidate: () => this.#editor.invalidate(),
    }
  }

  get text(): PromptEditor['text'] {
    return this.#editor.getText()
  }

  get fullText(): PromptEditor['fullText'] {
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

  /** Replaces the text. Long texts become pastes with a placeholder, which `written` expands. */
  #setTexts(texts: readonly string[]): void {
    if (texts.every(({ length }) => length <= maxShownLength)) this.#editor.setText(texts.join('\n\n'))
    else {
      this.#editor.setText('')
      for (const [index, text] of texts.entries()) {
        if (index > 0) this.#editor.insertTextAtCursor('\n\n')
        if (text.length <= maxShownLength) this.#editor.insertTextAtCursor(text)
        else this.#editor.handleInput(pasteStart + text.replaceAll(pasteEnd, '') + pasteEnd)
      }
    }
    this.#changed()
  }
}

function borderOf(line: string, width: number): string {
  return line.replaceAll(borderMark, '').padEnd(width, '─').slice(0, width)
}

/** The root that components of the library need: it draws frames, and knows the size of the screen. */
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
  // `Editor` and `CancellableLoader` use only these members of the class, which itself would write to the terminal.
  return host as unknown as TUI
}

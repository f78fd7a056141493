import type { AutocompleteProvider } from '@earendil-works/pi-tui/dist/autocomplete.js'
import { Editor } from '@earendil-works/pi-tui/dist/components/editor.js'
import type { Style } from '../../io/style.ts'
import { editorHost } from '../screen/editor-host.ts'
import { pasteEnd, pasteStart } from '../screen/input.ts'
import { leastEditorWidth, takeWideGraphemesApart } from './narrow-graphemes.ts'
import type { Component, Screen } from '../screen/screen-port.ts'

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
  const { style, screen } = options
  const changed = (): void => screen.requestFrame()
  const plain = (text: string): string => text
  const editor = new Editor(
    editorHost(options.screen),
    {
      borderColor: (text) => borderMark + text,
      selectList: {
        selectedPrefix: style.bold,
        selectedText: style.bold,
        description: style.dim,
        scrollInfo: style.dim,
        noMatch: plain,
      },
    },
    { autocompleteMaxVisible: 8 },
  )
  takeWideGraphemesApart(editor)
  editor.setAutocompleteProvider(options.completion)
  editor.onSubmit = options.onSubmit
  editor.onChange = options.onChange
  /** Texts a line apart, in place of what is there. Long ones stand as pastes, which `written` has whole. */
  const setTexts = (texts: readonly string[]): void => {
    if (texts.every(({ length }) => length <= mostShown)) editor.setText(texts.join('\n\n'))
    else {
      editor.setText('')
      for (const [index, text] of texts.entries()) {
        if (index > 0) editor.insertTextAtCursor('\n\n')
        if (text.length <= mostShown) editor.insertTextAtCursor(text)
        else editor.handleInput(pasteStart + text.replaceAll(pasteEnd, '') + pasteEnd)
      }
    }
    changed()
  }
  return {
    component: {
      render(width) {
        const hasSign = width - sign.length >= leastEditorWidth
        const room = hasSign ? width - sign.length : Math.max(leastEditorWidth, width)
        let isFirst = true
        return editor.render(room).map((line) => {
          if (line.startsWith(borderMark)) return style.dim(borderOf(line, width))
          const before = isFirst ? style.bold(sign) : ' '.repeat(sign.length)
          isFirst = false
          return hasSign ? before + line : line
        })
      },
      handleInput(data) {
        const before = editor.getText().length
        editor.handleInput(data)
        // The history and undo bring texts back as they were.
        const text = editor.getText()
        if (text.length > Math.max(mostShown, before + 1)) setTexts([text])
        changed()
      },
      invalidate: () => editor.invalidate(),
    },
    get text() {
      return editor.getText()
    },
    get written() {
      return editor.getExpandedText()
    },
    get isEmpty() {
      return editor.getText() === ''
    },
    get hasMenu() {
      return editor.isShowingAutocomplete()
    },
    setText: (text) => setTexts([text]),
    putBefore(texts) {
      if (texts.length > 0) setTexts([...texts, editor.getText()].filter((text) => text !== ''))
    },
    insert(text) {
      editor.insertTextAtCursor(text)
      changed()
    },
    take() {
      const text = editor.getExpandedText()
      setTexts([''])
      return text
    },
    remember: (text) => editor.addToHistory(text),
    setFocused(isFocused) {
      editor.focused = isFocused
    },
  }
}

function borderOf(line: string, width: number): string {
  return line.replaceAll(borderMark, '').padEnd(width, '─').slice(0, width)
}

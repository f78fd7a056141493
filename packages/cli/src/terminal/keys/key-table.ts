import { type KeyId, matchesKey } from '@earendil-works/pi-tui/dist/keys.js'
import { KeybindingsManager, setKeybindings, TUI_KEYBINDINGS } from '@earendil-works/pi-tui/dist/keybindings.js'
import { type Action, appActions, type AppAction } from './actions.ts'
import { keyLabel } from './key-names.ts'
import type { Keybindings } from './keybindings.ts'

/** The program's action for a key; undefined if the key is for the editor or a list. */
export type KeyTable = (data: string) => AppAction | undefined

export function keyTable({ keysOf }: Keybindings): KeyTable {
  const rows = appActions.map((action) => ({ action, keys: keysOf[action].map(idOf) }))
  return (data) => {
    // A line feed is Ctrl+J and never Enter, which is a carriage return.
    if (data === '\n') return rows.find(({ keys }) => keys.includes('ctrl+j'))?.action
    return rows.find(({ keys }) => keys.some((key) => matchesKey(data, key)))?.action
  }
}

/** Whether a key is assigned to an action. */
export function isKeyOf({ keysOf }: Keybindings, action: Action, data: string): boolean {
  if (data === '\n') return keysOf[action].includes('ctrl+j')
  return keysOf[action].some((key) => matchesKey(data, idOf(key)))
}

/** The first key of an action for display; '' if it has none. */
export function keyName({ keysOf }: Keybindings, action: Action): string {
  const [first] = keysOf[action]
  return first === undefined ? '' : keyLabel(first)
}

/** Sets the keys of the editor, which the library reads from a global manager. */
export function bindEditor({ keysOf }: Keybindings): void {
  const bindings = Object.fromEntries(
    Object.entries(editorKeys).map(([name, action]) => [name, action === undefined ? [] : keysOf[action].map(idOf)]),
  )
  setKeybindings(new KeybindingsManager(TUI_KEYBINDINGS, bindings))
}

type EditorKey = keyof typeof TUI_KEYBINDINGS

/** Each key binding of the library as one of our actions, or none. */
const editorKeys: { readonly [name in EditorKey]: Action | undefined } = {
  'tui.editor.cursorUp': 'cursorUp',
  'tui.editor.cursorDown': 'cursorDown',
  'tui.editor.cursorLeft': 'cursorLeft',
  'tui.editor.cursorRight': 'cursorRight',
  'tui.editor.cursorWordLeft': 'cursorWordLeft',
  'tui.editor.cursorWordRight': 'cursorWordRight',
  'tui.editor.cursorLineStart': 'cursorLineStart',
  'tui.editor.cursorLineEnd': 'cursorLineEnd',
  'tui.editor.jumpForward': 'jumpForward',
  'tui.editor.jumpBackward': 'jumpBackward',
  'tui.editor.pageUp': 'pageUp',
  'tui.editor.pageDown': 'pageDown',
  'tui.editor.deleteCharBackward': 'deleteLeft',
  'tui.editor.deleteCharForward': 'deleteRight',
  'tui.editor.deleteWordBackward': 'deleteWordLeft',
  'tui.editor.deleteWordForward': 'deleteWordRight',
  'tui.editor.deleteToLineStart': 'deleteToLineStart',
  'tui.editor.deleteToLineEnd': 'deleteToLineEnd',
  'tui.editor.yank': 'yank',
  'tui.editor.yankPop': 'yankOlder',
  'tui.editor.undo': 'undo',
  'tui.input.newLine': 'newLine',
  'tui.input.submit': 'send',
  'tui.input.tab': 'complete',
  'tui.input.copy': undefined,
  'tui.select.up': 'cursorUp',
  'tui.select.down': 'cursorDown',
  'tui.select.pageUp': 'pageUp',
  'tui.select.pageDown': 'pageDown',
  'tui.select.confirm': 'send',
  'tui.select.cancel': 'interrupt',
}

function idOf(key: string): KeyId {
  // This cast is safe: `parseKey` accepts only such keys, and a test checks the default keys.
  return key as KeyId
}

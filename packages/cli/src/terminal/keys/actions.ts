interface ActionRow {
  /** What the app does itself; the editor does the others. */
  readonly by: 'app' | 'editor'
  /** Where nobody says otherwise. */
  readonly keys: readonly string[]
  readonly does: string
}

/** What a key can do. The names are those of `keybindings.json`, in the order in which they are listed. */
const table = {
  send: { by: 'editor', keys: ['enter'], does: 'Send; during a run, steer it' },
  queue: { by: 'app', keys: ['alt+enter'], does: 'Queue for after the run' },
  newLine: { by: 'editor', keys: ['shift+enter', 'ctrl+enter', 'ctrl+j'], does: 'New line (also \\ and then Enter)' },
  takeBack: { by: 'app', keys: ['alt+up'], does: 'Take the last queued message back' },
  interrupt: { by: 'app', keys: ['escape'], does: 'Close a menu, or stop the run; twice on an empty line: rewind' },
  clear: { by: 'app', keys: ['ctrl+c'], does: 'Clear the line; on an empty line, stop the run; twice: quit' },
  leave: { by: 'app', keys: ['ctrl+d'], does: 'Quit, on an empty line' },
  cycleMode: { by: 'app', keys: ['shift+tab'], does: 'Switch to the next permission mode' },
  transcript: { by: 'app', keys: ['ctrl+o'], does: 'Show the whole conversation' },
  todos: { by: 'app', keys: ['ctrl+t'], does: 'Show or hide the todo list' },
  tasks: { by: 'app', keys: ['ctrl+b'], does: 'List background tasks' },
  searchHistory: { by: 'app', keys: ['ctrl+r'], does: 'Search your earlier prompts' },
  openEditor: { by: 'app', keys: ['ctrl+g'], does: 'Edit the prompt in $VISUAL or $EDITOR' },
  redraw: { by: 'app', keys: ['ctrl+l'], does: 'Redraw the screen' },
  suspend: { by: 'app', keys: ['ctrl+z'], does: 'Suspend to the shell; fg resumes' },
  complete: { by: 'editor', keys: ['tab'], does: 'Complete a command or a path' },
  showKeys: { by: 'app', keys: ['?'], does: 'Show these keys, on an empty line' },
  cursorUp: { by: 'editor', keys: ['up'], does: 'Line up; on an empty line, the previous prompt' },
  cursorDown: { by: 'editor', keys: ['down'], does: 'Line down' },
  cursorLeft: { by: 'editor', keys: ['left'], does: 'Character left' },
  cursorRight: { by: 'editor', keys: ['right', 'ctrl+f'], does: 'Character right' },
  cursorWordLeft: { by: 'editor', keys: ['alt+left', 'ctrl+left', 'alt+b'], does: 'Word left' },
  cursorWordRight: { by: 'editor', keys: ['alt+right', 'ctrl+right', 'alt+f'], does: 'Word right' },
  cursorLineStart: { by: 'editor', keys: ['home', 'ctrl+a'], does: 'Start of the line' },
  cursorLineEnd: { by: 'editor', keys: ['end', 'ctrl+e'], does: 'End of the line' },
  pageUp: { by: 'editor', keys: ['pageUp'], does: 'Page up' },
  pageDown: { by: 'editor', keys: ['pageDown'], does: 'Page down' },
  deleteLeft: { by: 'editor', keys: ['backspace'], does: 'Delete to the left' },
  deleteRight: { by: 'editor', keys: ['delete'], does: 'Delete to the right' },
  deleteWordLeft: { by: 'editor', keys: ['ctrl+w', 'alt+backspace'], does: 'Delete the word to the left' },
  deleteWordRight: { by: 'editor', keys: ['alt+d', 'alt+delete'], does: 'Delete the word to the right' },
  deleteToLineStart: { by: 'editor', keys: ['ctrl+u'], does: 'Delete to the start of the line' },
  deleteToLineEnd: { by: 'editor', keys: ['ctrl+k'], does: 'Delete to the end of the line' },
  yank: { by: 'editor', keys: ['ctrl+y'], does: 'Paste the last deleted text' },
  yankOlder: { by: 'editor', keys: ['alt+y'], does: 'Replace it with older deleted text' },
  undo: { by: 'editor', keys: ['ctrl+-'], does: 'Undo' },
  jumpForward: { by: 'editor', keys: ['ctrl+]'], does: 'Jump forward to a character' },
  jumpBackward: { by: 'editor', keys: ['ctrl+alt+]'], does: 'Jump back to a character' },
} as const

export type Action = keyof typeof table
export type AppAction = { [action in Action]: (typeof table)[action]['by'] extends 'app' ? action : never }[Action]

export const actions: Readonly<Record<Action, ActionRow>> = table

/** `Object.keys` of the table gives its keys. */
export const actionNames: readonly Action[] = Object.keys(table) as Action[]

export const appActions: readonly AppAction[] = actionNames.filter(isAppAction)

function isAppAction(action: Action): action is AppAction {
  return actions[action].by === 'app'
}

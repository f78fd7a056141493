interface ActionRow {
  /** `app`: the program handles it; `editor`: the editor does. */
  readonly by: 'app' | 'editor'
  /** The default keys. */
  readonly keys: readonly string[]
  readonly description: string
}

/** The key actions. The names are those of `keybindings.json`, in the order of the list. */
const table = {
  send: { by: 'editor', keys: ['enter'], description: 'Send; during a run, steer it' },
  queue: { by: 'app', keys: ['alt+enter'], description: 'Queue for after the run' },
  newLine: {
    by: 'editor',
    keys: ['shift+enter', 'ctrl+enter', 'ctrl+j'],
    description: 'New line (also \\ and then Enter)',
  },
  takeBack: { by: 'app', keys: ['alt+up'], description: 'Take the last queued message back' },
  interrupt: {
    by: 'app',
    keys: ['escape'],
    description: 'Close a menu, or stop the run; twice on an empty line: rewind',
  },
  clear: { by: 'app', keys: ['ctrl+c'], description: 'Clear the line; on an empty line, stop the run; twice: quit' },
  leave: { by: 'app', keys: ['ctrl+d'], description: 'Quit, on an empty line' },
  cycleMode: { by: 'app', keys: ['shift+tab'], description: 'Switch to the next permission mode' },
  transcript: { by: 'app', keys: ['ctrl+o'], description: 'Show the whole conversation' },
  todos: { by: 'app', keys: ['ctrl+t'], description: 'Show or hide the todo list' },
  tasks: { by: 'app', keys: ['ctrl+b'], description: 'List background tasks' },
  searchHistory: { by: 'app', keys: ['ctrl+r'], description: 'Search your earlier prompts' },
  openEditor: { by: 'app', keys: ['ctrl+g'], description: 'Edit the prompt in $VISUAL or $EDITOR' },
  redraw: { by: 'app', keys: ['ctrl+l'], description: 'Redraw the screen' },
  suspend: { by: 'app', keys: ['ctrl+z'], description: 'Suspend to the shell; fg resumes' },
  complete: { by: 'editor', keys: ['tab'], description: 'Complete a command or a path' },
  showKeys: { by: 'app', keys: ['?'], description: 'Show these keys, on an empty line' },
  cursorUp: { by: 'editor', keys: ['up'], description: 'Line up; on an empty line, the previous prompt' },
  cursorDown: { by: 'editor', keys: ['down'], description: 'Line down' },
  cursorLeft: { by: 'editor', keys: ['left'], description: 'Character left' },
  cursorRight: { by: 'editor', keys: ['right', 'ctrl+f'], description: 'Character right' },
  cursorWordLeft: { by: 'editor', keys: ['alt+left', 'ctrl+left', 'alt+b'], description: 'Word left' },
  cursorWordRight: { by: 'editor', keys: ['alt+right', 'ctrl+right', 'alt+f'], description: 'Word right' },
  cursorLineStart: { by: 'editor', keys: ['home', 'ctrl+a'], description: 'Start of the line' },
  cursorLineEnd: { by: 'editor', keys: ['end', 'ctrl+e'], description: 'End of the line' },
  pageUp: { by: 'editor', keys: ['pageUp'], description: 'Page up' },
  pageDown: { by: 'editor', keys: ['pageDown'], description: 'Page down' },
  deleteLeft: { by: 'editor', keys: ['backspace'], description: 'Delete to the left' },
  deleteRight: { by: 'editor', keys: ['delete'], description: 'Delete to the right' },
  deleteWordLeft: { by: 'editor', keys: ['ctrl+w', 'alt+backspace'], description: 'Delete the word to the left' },
  deleteWordRight: { by: 'editor', keys: ['alt+d', 'alt+delete'], description: 'Delete the word to the right' },
  deleteToLineStart: { by: 'editor', keys: ['ctrl+u'], description: 'Delete to the start of the line' },
  deleteToLineEnd: { by: 'editor', keys: ['ctrl+k'], description: 'Delete to the end of the line' },
  yank: { by: 'editor', keys: ['ctrl+y'], description: 'Paste the last deleted text' },
  yankOlder: { by: 'editor', keys: ['alt+y'], description: 'Replace it with older deleted text' },
  undo: { by: 'editor', keys: ['ctrl+-'], description: 'Undo' },
  jumpForward: { by: 'editor', keys: ['ctrl+]'], description: 'Jump forward to a character' },
  jumpBackward: { by: 'editor', keys: ['ctrl+alt+]'], description: 'Jump back to a character' },
} as const

export type Action = keyof typeof table
export type AppAction = { [action in Action]: (typeof table)[action]['by'] extends 'app' ? action : never }[Action]

export const actions: Readonly<Record<Action, ActionRow>> = table

/** This cast is safe: these are the keys of the table. */
export const actionNames: readonly Action[] = Object.keys(table) as Action[]

export const appActions: readonly AppAction[] = actionNames.filter(isAppAction)

function isAppAction(action: Action): action is AppAction {
  return actions[action].by === 'app'
}

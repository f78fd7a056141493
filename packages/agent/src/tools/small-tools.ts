/** What a small model is told of a tool: its description, and the fields that it is offered. */
export interface SmallTool {
  readonly description: string
  readonly fields: Readonly<Record<string, { readonly description?: string }>>
}

/** The tools of the profile `small`, in short texts. */
export const smallTools: Readonly<Record<string, SmallTool | undefined>> = {
  Read: {
    description: 'Read a file. Returns numbered lines. The number and the tab are not part of the file.',
    fields: {
      file_path: {},
      offset: { description: 'First line (default: 1)' },
      limit: { description: 'Number of lines' },
    },
  },
  Write: {
    description: 'Create a file, or replace all of it. Read an existing file first.',
    fields: { file_path: {}, content: { description: 'The whole file' } },
  },
  Edit: {
    description: 'Replace text in a file. Read the file first.',
    fields: {
      file_path: {},
      old_string: { description: 'Text to replace, copied exactly, without line numbers. Must be in the file once.' },
      new_string: { description: 'Replacement' },
      replace_all: { description: 'Replace every occurrence (default: false)' },
    },
  },
  Bash: {
    description: 'Run a shell command. Returns its output and exit code. Commands cannot read input.',
    fields: { command: {} },
  },
  Glob: {
    description: 'Find files by name.',
    fields: {
      pattern: { description: 'For example src/**/*.ts' },
      path: { description: 'Directory (default: working directory)' },
    },
  },
  Grep: {
    description: 'Search file contents by regular expression. Returns paths, or matching lines.',
    fields: {
      pattern: {},
      path: { description: 'File or directory (default: working directory)' },
      glob: { description: 'For example *.ts' },
      output_mode: { description: 'content returns lines (default: files_with_matches)' },
    },
  },
}

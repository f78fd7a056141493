/** What a small model is told of a tool: its description, and those of the fields that it is offered (empty for none). */
export interface SmallTool {
  readonly description: string
  readonly fields: Readonly<Record<string, string>>
}

/** The tools of the profile `small`, in short texts. */
export const smallTools: Readonly<Record<string, SmallTool | undefined>> = {
  Read: {
    description: 'Read a file. Returns numbered lines. The number and the tab are not part of the file.',
    fields: { file_path: '', offset: 'First line (default: 1)', limit: 'Number of lines (default: 2000)' },
  },
  Write: {
    description: 'Create a file, or replace all of it. Read an existing file first.',
    fields: { file_path: '', content: 'The whole file' },
  },
  Edit: {
    description: 'Replace text in a file. Read the file first.',
    fields: {
      file_path: '',
      old_string: 'Text to replace, copied exactly, without line numbers. Must be in the file once.',
      new_string: 'Replacement',
      replace_all: 'Replace every occurrence (default: false)',
    },
  },
  Bash: {
    description: 'Run a shell command. Returns its output and exit code. Commands cannot read input.',
    fields: { command: '' },
  },
  Glob: {
    description: 'Find files by name.',
    fields: { pattern: 'For example src/**/*.ts', path: 'Directory (default: working directory)' },
  },
  Grep: {
    description: 'Search file contents by regular expression. Returns paths, or matching lines.',
    fields: {
      pattern: '',
      path: 'File or directory (default: working directory)',
      glob: 'For example *.ts',
      output_mode: 'content returns lines (default: files_with_matches)',
    },
  },
}

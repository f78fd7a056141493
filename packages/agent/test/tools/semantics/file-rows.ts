import { refused, type Row, rowsOf } from './row.ts'

const read = rowsOf('Read')
const write = rowsOf('Write')
const edit = rowsOf('Edit')
const notebook = rowsOf('NotebookEdit')

const a = { files: { 'a.txt': 'one\ntwo\nthree\n' } }
const wasRead = { ...a, calls: [['Read', { file_path: 'a.txt' }]] } as const
const twice = { files: { 'a.txt': 'one\none\n' }, calls: [['Read', { file_path: 'a.txt' }]] } as const
const lines = (count: number): string => Array.from({ length: count }, (_, at) => `line ${at + 1}\n`).join('')
const cells = [
  { cell_type: 'markdown', id: 'intro', metadata: {}, source: ['# Title'] },
  {
    cell_type: 'code',
    execution_count: 1,
    id: 'calc',
    metadata: {},
    outputs: [{ output_type: 'stream', name: 'stdout', text: ['two\n'] }],
    source: 'print(2)',
  },
]
const book = {
  files: { 'b.ipynb': `${JSON.stringify({ cells, metadata: {}, nbformat: 4, nbformat_minor: 5 }, undefined, 1)}\n` },
}
const readBook = { ...book, calls: [['Read', { file_path: 'b.ipynb' }]] } as const
const cell = (rest: object): object => ({ notebook_path: 'b.ipynb', ...rest })

export const fileRows: readonly Row[] = [
  read(
    'Gives lines with their numbers, as cat -n does, from 1',
    { file_path: '{cwd}/a.txt' },
    '     1\tone\n     2\ttwo',
    { given: a },
  ),
  read('file_path must be absolute', { file_path: 'a.txt' }, '     1\tone', {
    given: a,
    how: 'A path from the working directory is plain, so it is taken',
  }),
  read('Reads 2,000 lines when nothing is said', { file_path: 'a.txt' }, '[Lines 1 to 2000 of ', {
    given: { files: { 'a.txt': lines(2_500) } },
  }),
  read('offset and limit choose lines', { file_path: 'a.txt', offset: 2, limit: 1 }, '     2\ttwo', { given: a }),
  read('offset is a line number', { file_path: 'a.txt', offset: '2' }, '     2\ttwo', {
    given: a,
    how: 'A number as text is plain, so it is taken',
  }),
  read('offset counts from 1', { file_path: 'a.txt', offset: 0 }, '     1\tone', { given: a }),
  read('An offset beyond the end is reported', { file_path: 'a.txt', offset: 9 }, 'has 3 lines; there is no line 9', {
    ...refused,
    given: a,
  }),
  read(
    'Lines longer than 2,000 characters are cut',
    { file_path: 'a.txt' },
    'xx [... 1000 characters of this line left out]',
    {
      given: { files: { 'a.txt': `${'x'.repeat(3_000)}\n` } },
    },
  ),
  read('An empty file is reported as empty', { file_path: 'a.txt' }, 'exists and is empty', {
    given: { files: { 'a.txt': '' } },
  }),
  read('A file that is not there is an error', { file_path: 'b.txt' }, '{cwd}/b.txt does not exist', refused),
  read(
    'A file that is not there: one of a similar name is named',
    { file_path: 'a.md' },
    'Similar names in that directory: a.txt',
    {
      ...refused,
      given: a,
    },
  ),
  read('Reads files, no directories', { file_path: 'd' }, 'is a directory. To list its files, use Glob with ', {
    ...refused,
    given: { made: 'mkdir d' },
  }),
  read('Shows images', { file_path: 'a.png' }, '"type":"image"', {
    given: {
      made: `base64 -d > a.png <<< iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==`,
    },
  }),
  read('Shows the cells of notebooks with what they gave', { file_path: 'b.ipynb' }, 'print(2)', { given: book }),
  read('pages chooses pages of a PDF', { file_path: 'a.txt', pages: '1-2' }, 'one', {
    given: a,
    how: 'On what is no PDF pages says nothing, and is passed over',
  }),
  read('Binary files cannot be shown', { file_path: 'a.bin' }, 'is a binary file, which Read cannot show', {
    ...refused,
    given: { made: String.raw`printf '\0\1\2\3' > a.bin` },
  }),
  read('Reads any file that the user may read', { file_path: 'pipe' }, 'is not a regular file', {
    ...refused,
    given: { made: 'mkfifo pipe' },
    how: 'What may never end is not opened',
  }),
  read('Unknown fields are refused', { file_path: 'a.txt', lines: 3 }, 'there is no field lines', {
    ...refused,
    given: a,
  }),
  read('file_path is required', {}, 'file_path is missing', refused),

  write('Makes a file', { file_path: '{cwd}/new.txt', content: 'new\n' }, 'Created {cwd}/new.txt (1 line)'),
  write('file_path must be absolute', { file_path: 'new.txt', content: 'new\n' }, 'Created {cwd}/new.txt', {
    how: 'A path from the working directory is plain, so it is taken',
  }),
  write('Makes the folders above', { file_path: 'd/e/new.txt', content: 'new\n' }, 'Created {cwd}/d/e/new.txt'),
  write(
    'A file that is there must have been read',
    { file_path: 'a.txt', content: 'new\n' },
    'already exists and has not been read yet',
    { ...refused, given: a },
  ),
  write('Replaces a file that was read', { file_path: 'a.txt', content: 'new\n' }, 'Updated {cwd}/a.txt (1 line)', {
    given: wasRead,
  }),
  write(
    'Refuses a file that was changed since it was read',
    { file_path: 'a.txt', content: 'new\n' },
    'has changed since you read it',
    { ...refused, given: { ...wasRead, made: 'echo four >> a.txt' } },
  ),
  write('May be written again without another Read', { file_path: 'new.txt', content: 'two\n' }, 'Updated', {
    given: { calls: [['Write', { file_path: 'new.txt', content: 'one\n' }]] },
  }),
  write('Takes an empty content', { file_path: 'new.txt', content: '' }, 'Created {cwd}/new.txt'),
  write('content is required', { file_path: 'new.txt' }, 'content is missing', refused),
  write('Writes files, no directories', { file_path: 'd', content: 'x' }, 'is a directory', {
    ...refused,
    given: { made: 'mkdir d' },
  }),
  write(
    'Writes what it is given',
    { file_path: 'a.txt', content: 'new\n' },
    'Its line endings were CRLF and are now LF',
    {
      given: { files: { 'a.txt': 'one\r\ntwo\r\n' }, calls: [['Read', { file_path: 'a.txt' }]] },
      how: 'Line ends are written as given, and that they were others is said',
    },
  ),

  edit(
    'Replaces text that is there once',
    { file_path: 'a.txt', old_string: 'two', new_string: 'deux' },
    'Edited {cwd}/a.txt. The lines are now',
    { given: wasRead },
  ),
  edit(
    'Shows the lines around the change',
    { file_path: 'a.txt', old_string: 'two', new_string: 'deux' },
    '     2\tdeux',
    { given: wasRead },
  ),
  edit(
    'The file must have been read',
    { file_path: 'a.txt', old_string: 'two', new_string: 'deux' },
    'has not been read yet',
    { ...refused, given: a },
  ),
  edit(
    'Refuses a file that was changed since it was read',
    { file_path: 'a.txt', old_string: 'two', new_string: 'deux' },
    'has changed since you read it',
    { ...refused, given: { ...wasRead, made: 'echo four >> a.txt' } },
  ),
  edit(
    'old_string must be unique',
    { file_path: 'a.txt', old_string: 'one', new_string: 'un' },
    'old_string occurs 2 times (lines 1, 2)',
    { ...refused, given: twice },
  ),
  edit(
    'replace_all replaces every place',
    { file_path: 'a.txt', old_string: 'one', new_string: 'un', replace_all: true },
    'in 2 places',
    { given: twice },
  ),
  edit(
    'replace_all is true or false',
    { file_path: 'a.txt', old_string: 'one', new_string: 'un', replace_all: 'true' },
    'in 2 places',
    { given: twice, how: '"true" is plain, so it is taken' },
  ),
  edit(
    'old_string that is not there is an error',
    { file_path: 'a.txt', old_string: 'four', new_string: 'x' },
    'old_string is not in the file',
    { ...refused, given: wasRead },
  ),
  edit(
    'White space must be as in the file',
    { file_path: 'a.txt', old_string: '  two', new_string: 'x' },
    'It differs in white space',
    { ...refused, given: wasRead, how: 'Refused as well, with the nearest place and what differs' },
  ),
  edit(
    'Line numbers of Read are no part of the text',
    { file_path: 'a.txt', old_string: '     2\ttwo', new_string: 'x' },
    'old_string is not in the file',
    { ...refused, given: wasRead },
  ),
  edit(
    'new_string must differ from old_string',
    { file_path: 'a.txt', old_string: 'two', new_string: 'two' },
    'are identical, so there is nothing to change',
    { ...refused, given: wasRead },
  ),
  edit(
    'An empty old_string makes a new file',
    { file_path: 'new.txt', old_string: '', new_string: 'new\n' },
    'Created {cwd}/new.txt',
  ),
  edit(
    'An empty old_string on a file with text is an error',
    { file_path: 'a.txt', old_string: '', new_string: 'x' },
    'exists and is not empty',
    { ...refused, given: wasRead },
  ),
  edit(
    'A file that is not there is an error',
    { file_path: 'b.txt', old_string: 'one', new_string: 'x' },
    '{cwd}/b.txt does not exist. To create it, use Write',
    refused,
  ),
  edit('An empty new_string deletes', { file_path: 'a.txt', old_string: 'two\n', new_string: '' }, '     2\tthree', {
    given: wasRead,
  }),
  edit(
    'May be edited again without another Read',
    { file_path: 'a.txt', old_string: 'deux', new_string: 'zwei' },
    'Edited',
    {
      given: {
        ...a,
        calls: [
          ['Read', { file_path: 'a.txt' }],
          ['Edit', { file_path: 'a.txt', old_string: 'two', new_string: 'deux' }],
        ],
      },
    },
  ),
  edit(
    'Binary files are not edited',
    { file_path: 'a.bin', old_string: 'one', new_string: 'x' },
    'has not been read yet',
    {
      ...refused,
      given: { made: String.raw`printf 'one\0' > a.bin` },
    },
  ),
  edit(
    'Line ends of the file are kept',
    { file_path: 'a.txt', old_string: 'one\ntwo', new_string: 'un\ndeux' },
    'Edited',
    { given: { files: { 'a.txt': 'one\r\ntwo\r\n' }, calls: [['Read', { file_path: 'a.txt' }]] } },
  ),

  notebook(
    'Replaces the source of a cell',
    cell({ cell_id: 'calc', new_source: 'print(3)' }),
    'Replaced cell calc of {cwd}/b.ipynb',
    { given: readBook },
  ),
  notebook(
    'insert puts a cell behind the one that is named',
    cell({ cell_id: 'intro', new_source: 'x', cell_type: 'code', edit_mode: 'insert' }),
    'Inserted code cell',
    { given: readBook },
  ),
  notebook(
    'insert without a cell_id puts it at the beginning',
    cell({ new_source: '# T', cell_type: 'markdown', edit_mode: 'insert' }),
    'Inserted markdown cell',
    { given: readBook },
  ),
  notebook('cell_type is required with insert', cell({ new_source: 'x', edit_mode: 'insert' }), 'Inserted code cell', {
    given: readBook,
    how: 'Most cells are code: that is taken when nothing is said',
  }),
  notebook(
    'delete takes a cell out',
    cell({ cell_id: 'calc', new_source: '', edit_mode: 'delete' }),
    'Deleted cell calc of',
    { given: readBook },
  ),
  notebook(
    'A cell that is not there is an error',
    cell({ cell_id: 'none', new_source: 'x' }),
    'has no cell none. Its cells are: intro, calc',
    { ...refused, given: readBook },
  ),
  notebook('The notebook must have been read', cell({ cell_id: 'calc', new_source: 'x' }), 'has not been read yet', {
    ...refused,
    given: book,
  }),
  notebook(
    'Works on .ipynb files',
    { notebook_path: 'a.txt', cell_id: 'calc', new_source: 'x' },
    'so it is not a notebook. Use Edit',
    { ...refused, given: wasRead },
  ),
  notebook(
    'A cell is also named by its number (cell_number)',
    cell({ cell_number: 0, new_source: 'x' }),
    'there is no field cell_number',
    { ...refused, given: readBook, how: 'Numbers move with every insertion: ids alone are taken, and Read shows them' },
  ),
  notebook('replace needs a cell', cell({ new_source: 'x' }), 'cell_id is missing: replace needs the id of a cell', {
    ...refused,
    given: readBook,
  }),
]

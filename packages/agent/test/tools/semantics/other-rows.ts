import { refused, type Row, rowsOf } from './row.ts'

const create = rowsOf('TaskCreate')
const update = rowsOf('TaskUpdate')
const list = rowsOf('TaskList')
const get = rowsOf('TaskGet')
const todo = rowsOf('TodoWrite')
const web = rowsOf('WebFetch')
const online = rowsOf('WebSearch')
const ask = rowsOf('AskUserQuestion')
const enter = rowsOf('EnterPlanMode')
const exit = rowsOf('ExitPlanMode')
const agent = rowsOf('Agent')
const skill = rowsOf('Skill')
const search = rowsOf('ToolSearch')

const thing = (content: string, status: string): object => ({ content, status, activeForm: `${content}ing` })
const question = {
  question: 'Which one?',
  header: 'Store',
  options: [
    { label: 'sqlite', description: 'A file' },
    { label: 'postgres', description: 'A server' },
  ],
  multiSelect: false,
}
const prompt = 'What does it say?'

const task = (subject: string): readonly [string, object] => [
  'TaskCreate',
  { subject, description: 'All of it', activeForm: `${subject}ing` },
]
const twoTasks = { calls: [task('Test'), task('Fix')] }

export const otherRows: readonly Row[] = [
  create('Adds a task with subject, description and activeForm', task('Test')[1], 'Created task #1: Test'),
  create('description is required', { subject: 'Test' }, 'Created task #1: Test', { how: 'A task may go without one' }),
  create('metadata is kept', { subject: 'Test', description: '', metadata: { size: 1 } }, 'Created task #1: Test'),
  update('Sets the status', { taskId: '1', status: 'in_progress' }, 'Updated task #1 (status). 0 of 2 completed.', {
    given: twoTasks,
  }),
  update('Adds blockers', { taskId: '2', addBlockedBy: ['1'] }, 'Updated task #2 (blockedBy)', { given: twoTasks }),
  update('addBlocks is the same from the other side', { taskId: '1', addBlocks: ['2'] }, 'Updated task #1 (blocks)', {
    given: twoTasks,
  }),
  update(
    'The status deleted removes a task',
    { taskId: '1', status: 'deleted' },
    'Deleted task #1. 0 of 1 completed.',
    {
      given: twoTasks,
    },
  ),
  update('owner names who works on it', { taskId: '1', owner: 'me' }, 'Updated task #1 (owner)', { given: twoTasks }),
  update('A task that there is not', { taskId: '9', status: 'completed' }, 'Existing tasks: #1, #2.', {
    ...refused,
    given: twoTasks,
  }),
  list('Lists all tasks with id, status and subject', {}, '#1 [pending] Test\n#2 [pending] Fix', { given: twoTasks }),
  get('Shows a task with its description', { taskId: '2' }, 'Description: All of it', { given: twoTasks }),
  get('A task that there is not', { taskId: '9' }, 'Existing tasks: #1, #2.', { ...refused, given: twoTasks }),

  todo(
    'Keeps a list, each thing with content, status and activeForm',
    { todos: [thing('Test', 'in_progress'), thing('Fix', 'pending')] },
    '0 of 2 completed. Next: #1 Test',
  ),
  todo('Each call replaces the list', { todos: [thing('Fix', 'pending')] }, '0 of 1 completed', {
    given: { calls: [['TodoWrite', { todos: [thing('Test', 'pending')] }]] },
  }),
  todo(
    'status is pending, in_progress or completed',
    { todos: [thing('Test', 'done')] },
    'status: one of pending, in_progress, completed',
    refused,
  ),
  todo('activeForm is required', { todos: [{ content: 'Test', status: 'pending' }] }, '0 of 1 completed', {
    how: 'content stands in for it',
  }),
  todo(
    'One thing is in_progress at a time',
    { todos: [thing('a', 'in_progress'), thing('b', 'in_progress')] },
    '0 of 2 completed',
    { how: 'The reference asks for it and takes more, and so does ours' },
  ),
  todo('content is not empty', { todos: [thing('', 'pending')] }, 'content', refused),
  todo('All done', { todos: [thing('Test', 'completed')] }, 'All 1 completed.'),
  todo('An empty list clears it', { todos: [] }, 'The list is empty.'),

  web('Turns HTML into Markdown', { url: '{site}/page', prompt }, '# Head', {}),
  web('A small model answers the prompt', { url: '{site}/page', prompt }, 'Some **bold** text', {
    how: 'The same in a run, at its cost; a call outside of one, as here, gives the page itself',
  }),
  web('prompt is required', { url: '{site}/page' }, '# Head', { how: 'Without one the page comes back all the same' }),
  web('http becomes https', { url: 'http://127.0.0.2/page', prompt }, 'it leads to this machine or a private network', {
    ...refused,
    how: 'Addresses of this machine and private networks are refused, by whatever scheme',
  }),
  web(
    'A redirect to another host is reported, and not followed',
    { url: '{site}/away', prompt },
    'https://example.com/there',
  ),
  web('A redirect within the host is followed', { url: '{site}/near', prompt }, '# Head'),
  web('A page that is not there is an error', { url: '{site}/none', prompt }, '(404, text/plain)', refused),
  web('The URL must be whole', { url: 'example', prompt }, 'it is not a valid URL; give the full URL', refused),
  web(
    'Reads pages and nothing else',
    { url: 'file:///etc/hostname', prompt },
    'only https:// and http:// URLs can be fetched',
    refused,
  ),
  web('JSON comes as it is', { url: '{site}/json', prompt }, '{"one":1}'),

  online('Searches the web', { query: 'vitest' }, 'Web search needs a model', {
    ...refused,
    how: 'In a run a model searches by the tool of its service, at its fee; a call outside of one, as here, searches nothing',
  }),
  online('query has two characters or more', { query: '' }, 'query must be a non-empty string', {
    ...refused,
    how: 'One is enough',
  }),
  online(
    'allowed_domains and blocked_domains are not given together',
    { query: 'vitest', allowed_domains: ['vitest.dev'], blocked_domains: ['x.com'] },
    'give either allowed_domains or blocked_domains, not both',
    refused,
  ),
  online(
    'Domains are names of hosts',
    { query: 'vitest', allowed_domains: ['https://vitest.dev/guide'] },
    'allowed_domains must be a list',
    refused,
  ),
  ask(
    'Asks one to four questions, with options',
    { questions: [question], answers: { 'Which one?': 'sqlite' } },
    'Which one?\nAnswer: sqlite',
  ),
  ask(
    'More than four questions are refused',
    { questions: [question, question, question, question, question] },
    'questions must be a list of at most 4 objects',
    refused,
  ),
  ask('No question is refused', { questions: [] }, 'questions is empty. Give at least one', refused),
  ask('Each has two to four options', { questions: [{ question: 'Which one?' }] }, 'Not answered', {
    how: 'Up to ten, or none for a free answer',
  }),
  ask(
    'With multiSelect several are chosen',
    { questions: [{ ...question, multiSelect: true }], answers: { 'Which one?': ['sqlite', 'postgres'] } },
    'Answer: sqlite, postgres',
  ),
  ask(
    'The person may say something else',
    { questions: [question], answers: { 'Which one?': 'a file of text' } },
    'Answer: a file of text',
  ),
  ask(
    'Where nobody answers that is said',
    { questions: [question] },
    'Not answered. Choose the most reasonable interpretation',
  ),
  ask(
    'header has 12 characters at most',
    { questions: [{ ...question, header: 'A header that is long' }] },
    'Not answered',
    { how: 'Who shows it cuts it' },
  ),

  enter('Goes into plan mode, with the consent of the person', {}, 'Plan mode: explore and ask, but change nothing'),
  enter('Takes no input', { plan: 'x' }, 'there is no field plan', refused),
  exit(
    'Gives the plan to the person to approve',
    { plan: '1. Test\n2. Fix' },
    'The user approved the plan. Plan mode has ended',
  ),
  exit('The plan is read from a file', {}, 'plan is missing', {
    ...refused,
    how: 'The plan is in the input, where hooks and the person see what was approved',
  }),

  agent(
    'Starts an agent with a prompt of its own',
    { description: 'Find it', prompt: 'Find the bug', subagent_type: 'reviewer' },
    '"prompt":"Find the bug"',
  ),
  agent(
    'general-purpose is the agent when nothing is said',
    { description: 'Find it', prompt: 'Find the bug' },
    '"agentType":"general-purpose"',
  ),
  agent(
    'An agent that there is not is an error, which names those that are',
    { description: 'Find it', prompt: 'Find the bug', subagent_type: 'none' },
    'Unknown agent \\"none\\". Nothing was started. Use one of: general-purpose, reviewer',
    { ...refused },
  ),
  agent('description is required', { prompt: 'Find the bug' }, '"prompt":"Find the bug"', {
    how: 'It is for who watches: the task runs without it',
  }),
  agent('prompt is required', { description: 'Find it' }, 'prompt is missing', refused),
  agent(
    'model chooses another model',
    { description: 'Find it', prompt: 'Find the bug', model: 'none' },
    'is not available to agents',
    {
      ...refused,
      how: 'Only models that a person named: what is paid is their choice',
    },
  ),
  agent(
    'run_in_background goes on at once',
    { description: 'Find it', prompt: 'Find the bug', run_in_background: true },
    '"background":true',
  ),
  agent(
    'Works by the prompt of its definition',
    { description: 'Look', prompt: 'Look at it', subagent_type: 'reviewer' },
    'You review changes.',
  ),
  agent(
    'Has the tools of its definition',
    { description: 'Look', prompt: 'Look at it', subagent_type: 'reviewer' },
    '"tools":["Read"]',
  ),
  agent(
    'isolation gives it a work tree of its own',
    { description: 'Look', prompt: 'Look at it', isolation: 'worktree' },
    'there is no field isolation',
    { ...refused, how: 'Work trees are made by a command, under the rules about commands' },
  ),

  skill('Gives the text of a skill', { skill: 'release' }, 'Tag the commit, then build.'),
  skill('args go with it', { skill: 'release', args: 'v2' }, 'Tag the commit, then build. v2'),
  skill('A name with a slash before it', { skill: '/release' }, 'Tag the commit'),
  skill('A skill that there is not is an error', { skill: 'none' }, 'Unknown skill none. Use one of: release', refused),

  search('Finds tools by words', { query: 'send message' }, 'mcp__chat__send_message'),
  search('select: takes them by name', { query: 'select:mcp__chat__send_message,mcp__mail__list' }, 'mcp__mail__list'),
  search(
    'Finds five when nothing is said, max_results says otherwise',
    { query: 'mail', max_results: 1 },
    'mcp__mail__list',
  ),
  search('A word with + before it must be in the name', { query: '+mail send' }, 'next message on:\nmcp__mail__list'),
  search('No match is reported', { query: 'aeroplane' }, 'No tool matches "aeroplane"'),
  search(
    'What is found comes with its schema at once',
    { query: 'mail' },
    'You can call these tools from your next message on',
    { how: 'The schemas are in the next request, among its tools' },
  ),
  search('query is required', {}, 'query is missing', refused),
]

// Why a shell command cannot be analyzed, or may do more than read. These follow "Not allowed:" or are part of a question to a person.

// The command could not be parsed.

export const notParsed = (why: string): string => `it could not be parsed: ${why}`
export const notParsedReliably = (why: string): string => `it could not be parsed reliably: ${why}`
export const parserFailed = (error: string): string => `the parser failed (${error})`
export const nestedTooDeeply = 'it is nested too deeply'
export const tooManyWords = 'it has too many words to analyze'
export const tooLong = 'it is too long to analyze'
export const parenthesesTooDeep = 'its parentheses are nested too deeply'
export const scriptsTooDeep = 'its scripts within scripts are nested too deeply'
export const controlCharacters = 'it contains control characters'
export const tooManyBraceWords = 'its braces expand to too many words to analyze'
export const dependsOnLocale = 'which characters it contains depends on the locale of the shell'
export const textMayBeOperator = 'the shell may read plain text in it as an operator'
export const ambiguousReading = 'its quotes or operators can be read in more than one way'
export const mayBeReservedWord = 'the shell may read a word of it as a reserved word'
export const lastLineContinued = 'its last line ends in a continuation'
export const lineEndsInside = 'a line ends inside a command'

// Here-documents.

export const hereDocumentFollowed = 'a here-document in a substitution is followed by other commands'
export const hereDocumentWithoutBody = 'a here-document has no body'
export const hereDocumentInWord = 'a here-document begins inside a word'
export const hereDocumentJoinsQuotes = 'a here-document joins lines within quotes'
export const hereDocumentDelimiter = 'the delimiter of a here-document is unusual'
export const hereDocumentAmbiguousEnd = 'a here-document may end in two places'
export const hereDocumentWithoutEnd = 'a here-document has no end'

// Operators and compound commands.

export const notClosed = 'a quote, a brace or a parenthesis is not closed'
export const parenthesisNotClosed = 'a parenthesis is not closed'
export const parenthesisNotOpened = 'a closing parenthesis has no opening one'
export const parenthesisMisplaced = 'a parenthesis is in the wrong place'
export const operatorsInARow = 'two operators follow each other'
export const operatorMisplaced = 'an operator is in the wrong place'
export const redirectWithoutTarget = 'a redirect has no target'
export const wordAfterCompound = 'a word follows a compound command'
export const caseWithoutEnd = '`case` has no `esac`'
export const caseNotBegun = '`esac` has no `case`'
export const caseWithoutPatterns = '`case` has no patterns'
export const loopWithoutWords = 'a `for` loop has no words'
export const ambiguousCoproc = '`coproc` can be read in two ways'
export const descriptorTooLarge = 'the number of a file descriptor is too large'
export const testWithComment = 'a test contains a comment'
export const listWithComment = 'an array contains a comment'
export const listWithOperator = 'an array contains an operator'

// Expansions and arithmetic.

export const backticksWithComment = 'backticks contain a comment'
export const backticksUnclear = 'backticks are not closed, or contain backslashes or quotes'
export const substitutionCommentQuotes = 'a comment in a substitution contains quotes'
export const subscriptRuns = 'an array subscript can run commands'
export const testSubscriptRuns = 'an array subscript in it can run commands'
export const arithmeticRuns = 'its arithmetic may contain commands'
export const arithmeticOrCommand = 'it may be arithmetic or a command'
export const bracketArithmeticRuns = 'arithmetic in $[…] can run commands'
export const variableArithmeticRuns = 'arithmetic with variables can run commands'
export const dollarExpandsNothing = 'a dollar sign has nothing to expand'
export const translatedText = 'a translated string ($"…") is only known at run time'
export const expansionWithoutVariable = 'an expansion has no variable'
export const expansionQuotesMayBeText = 'quotes or braces in an expansion may be plain text'
export const expansionWithOperator = 'an expansion contains an operator'
export const expansionQuotesMayQuoteNothing = 'quotes in an expansion may have no effect'
export const nestedQuotesMayNotProtect = 'quotes within quotes may not protect their content'
export const indirectExpansionRuns = 'an indirect expansion can run commands'
export const expansionRuns = 'this kind of expansion can run commands'
export const fileNameExpandedTwice = 'the shell expands this file name twice'

// The program is not in the command, or is only known at run time.

export const commandNameUnknown = 'the name of a command is only known at run time'
export const notDescribed = (program: string): string => `${program} is not a command that is known to be harmless`
export const unknownRun = (program: string): string => `it is only known at run time what ${program} runs`
export const unknownGitCommand = 'it is only known at run time what git runs'
export const unknownFindExec = 'it is only known at run time which command find -exec runs'
export const findMayRunUnknown = 'find may run a command that is only known at run time'
export const runsCodeElsewhere = (program: string): string => `the code that ${program} runs is not part of the command`
export const runsItsInput = (program: string): string => `${program} runs its input as commands`
export const runsUnanalyzedCode = (program: string): string => `${program} runs code that is not analyzed`
export const scriptMayReachMore = (program: string): string =>
  `the script of ${program} may run commands or use files that are not analyzed`
export const makeMayRun = 'make runs commands that are not analyzed'
export const sqliteMayRun = 'sqlite3 may run commands or use files that are not analyzed'
export const gitRunsArgument = 'git starts the program that it is given'
export const xargsRunsInput = 'xargs may pass its input as a script to run'
export const xargsPassesUnknown = 'xargs passes arguments that are only known at run time'
export const mayRunArguments = (program: string): string => `${program} may run its arguments as a command`
export const evaluatesUnknown = (program: string): string =>
  `${program} evaluates an expression that is only known at run time`
export const runsProgram = 'it runs a program'
export const runsCommand = 'it runs a command'
export const runsOwnCommand = 'an argument that begins with + is a command that it runs'
export const definesWhatItRuns = 'it defines the command that it runs'

// Options and arguments.

export const optionNotHarmless = (option: string): string => `${option} is not an option that is known to be harmless`
export const takesNumber = (option: string): string => `${option} needs a number`
export const wordMayBecomeFiles = 'a word in it may expand to file names'
export const unknownWordMayBeOption = 'a word that is only known at run time could be an option'
export const optionIsPattern = 'an option contains a file pattern'
export const optionWithoutValue = 'the value of an option is missing'
export const unknownWordMayBeSeveral = 'a word that is only known at run time could expand to several'
export const optionValueIsPattern = 'the value of an option contains a file pattern'
export const followsLinksInFolder = 'it follows symbolic links in the folder'
export const operandsUnknown = 'its arguments are not known to be harmless'
export const patternMayBeSeveral = 'a file pattern may expand to several words'
export const lateOptionMayBeFile = 'some implementations read an option after the operands as a file'
export const lateOptionMayBeTarget = 'some implementations read an option after the operands as the target'
export const needsTwoOperands = 'it needs at least two operands'
export const movedUnknown = 'it is only known at run time what it moves'
export const targetUnknown = 'it is only known at run time where it goes'
export const formatUnknown = 'its format is only known at run time'
export const testUnknown = 'it is only known at run time what it tests'
export const patternMayBeTestOperator = 'a file name that matches the pattern could be an operator of test'

// Single programs.

export const lsofAsksOrShows = 'lsof may query name servers, or report files that were not checked'
export const xxdOptionWithoutNumber = 'an option of xxd needs a number'
export const xxdWritesSecond = 'xxd writes its second file'
export const xxdMayWrite = 'xxd may write a file'
export const nameMayBeFindAction = 'a file name could be an action of find'
export const findActionUnknown = (action: string): string => `find ${action} is not known to be harmless`
export const findExecUnclearEnd = 'it is unclear where the command of find -exec ends'
export const findRunsTooMuch = 'find runs too many commands to analyze'
export const findValueUnknown = (test: string): string => `the value of find ${test} is not known`
export const findExecMayChange = 'the command that find runs is not known to only read'
export const gitSettingNotHarmless = (setting: string): string =>
  `the git setting ${setting} is not known to be harmless`
export const gitWithoutCommand = 'git has no subcommand'
export const mayChange = (command: string): string => `${command} may change something`
export const changesWithArguments = (command: string): string => `${command} may change something with these arguments`
export const gitStashChanges = 'git stash may change something with these arguments'
export const gitPatternElsewhere = 'the shell expands a file pattern in its own folder, but git -C uses another folder'
export const tooManyColons = 'an argument has too many colons to analyze'
export const runsGpg = 'it runs gpg'
export const convertsEncoding = 'it converts text of the repository to another encoding'
export const pipAsksIndex = 'pip asks a package index for newer versions'
export const psShowsEnvironment = 'ps may show environment variables of processes'
export const manMayReadFile = 'man may read a file of the project'
export const lessopenMayRun = 'LESSOPEN may name a program that is run for each file'
export const removesFile = 'it replaces the file'
export const mayReadOtherEnding = 'it may read a file with another extension'
export const sedMayWrite = 'the script of sed may write files or run commands'
export const jqMayRead = 'the jq program reads modules or the environment'
export const awkMayWrite = 'the awk program may write files or run commands'
export const readsOptionsFromFile = 'it reads options from a file'
export const setsClock = 'it sets the clock'
export const mayUseFile = 'it may read or write a file'
export const formatAssigns = '%n assigns to a variable'

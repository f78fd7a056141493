// Why a trial did not settle a call, as ends of sentences: in the question to the person, and in a denial.

export const endedItsShell = 'it ended its own shell'
export const neededNetwork = 'it needs the network'
export const leftProcesses = 'it left processes running'
export const leftObjects = 'it left shared memory or semaphores behind'
export const wrotePath = (path: string): string => `it writes ${path}`

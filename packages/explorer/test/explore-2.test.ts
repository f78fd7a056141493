import { exploreShare } from './share.ts'

exploreShare(2, 4)

import {stream} from './shell.js';
stream.start();

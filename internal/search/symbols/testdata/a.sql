-- CREATE TABLE fake (x int);
CREATE TABLE IF NOT EXISTS public.users ( -- DEF table users
  id int
);
create or replace function add_user(name text) returns int as $$ -- DEF function add_user
$$ language sql;
CREATE UNIQUE INDEX users_name ON users (name); -- DEF table users_name
CREATE VIEW "Active" AS SELECT 'create table x (y)'; -- DEF table Active

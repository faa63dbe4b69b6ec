-- One statement a line; every one of them must be refused. {canary} is a file outside of the node's folder that must
-- not be read or changed, {new} one that must not appear, {data} the node's own folder.
-- rows: written, changed, taken away
insert into t values (1, 'x')
insert into t (n) select n from t
insert into t default values
INSERT INTO d.t (n) VALUES (1) RETURNING n
insert into t (n) values (1) on conflict do nothing
replace into t values (1)
update t set n = 1
update t set n = n + 1 where n in (select n from t)
delete from t
delete from t where n = 1 returning *
truncate t
truncate table d.t
merge into t using t as s on t.n = s.n when matched then update set n = 1
merge into t using (select 1 as n) s on t.n = s.n when not matched then insert (n) values (s.n)
-- tables and everything else that can be made, changed and dropped
create table u (a int)
create table u as select * from t
create table if not exists u as select 1
create or replace table t as select 1
create temporary table u (a int)
create external table u stored as csv location '{canary}'
create external table u (a varchar) stored as parquet location '{new}'
create unbounded external table u (a int) stored as csv location '{canary}'
create view v as select * from t
create or replace view v as select 1
create materialized view v as select * from t
create index i on t (n)
create unique index on t (n)
create schema s
create schema if not exists d
create database x
create function f() returns int as $$ select 1 $$ language sql
create or replace function f(a int) returns int return a + 1
create aggregate a (int) (sfunc = f, stype = int)
create procedure p() as begin end
create trigger g before insert on t for each row execute function f()
create role r
create user u with password 'x'
create sequence s
create type y as enum ('a')
create extension plpythonu
create policy p on t
create secret (type s3)
create publication p for all tables
create server s foreign data wrapper w
alter table t add column x int
alter table t drop column n
alter table t rename to u
alter table t rename column n to m
alter schema d rename to e
alter role r superuser
alter system set x = 1
alter session set x = 1
alter user u set password 'x'
drop table t
drop table if exists t cascade
drop view v
drop schema d cascade
drop database d
drop index i
drop function now
drop role r
comment on table t is 'x'
rename table t to u
-- files in and out
copy t to '{new}'
copy (select * from t) to '{new}'
copy (select * from t) to '{new}' stored as parquet
copy t to program 'touch {new}'
copy t from '{canary}'
copy t from program 'cat {canary}'
copy t from stdin
export database '{new}'
import database '{canary}'
unload (select * from t) to 's3://bucket/x'
load '{canary}'
load data inpath '{canary}' into table t
install httpfs
install 'https://example.com/x.duckdb_extension'
attach '{canary}' as x
attach database '{new}' as x
detach x
select * into u from t
select n into temporary u from t
select n into outfile '{new}' from t
select * from t into dumpfile '{new}'
-- files and addresses as tables
select * from '{canary}'
select * from "{canary}"
select * from '/etc/passwd'
select * from "/etc/passwd"
select * from "file:///etc/passwd"
select * from 'data.parquet'
select * from "s3://bucket/data.parquet"
select * from "http://127.0.0.1:1/x.csv"
select * from "https://example.com/x.parquet"
select * from "../../../../etc/passwd"
select * from "../d/t"
select * from "d/t"
select * from "{data}/fresh.redb"
select * from `{canary}`
select * from d."../t"
select * from ".."."t"
select * from "d.t"
select * from "*"
select * from "t\0"
select * from t as of timestamp '2026-01-01' join "/etc/passwd" on true
-- functions that stand in FROM
select * from read_csv('{canary}')
select * from read_csv_auto('/etc/passwd')
select * from read_parquet('{canary}')
select * from read_json('{canary}')
select * from read_text('{canary}')
select * from parquet_metadata('{canary}')
select * from parquet_scan('{canary}')
select * from csv('{canary}')
select * from glob('/etc/*')
select * from metadata_cache()
select * from statistics_cache()
select * from range(1, 1000000000000)
with read_csv as (select 1) select * from read_csv('{canary}')
select * from table(generate_series(1, 3))
select * from unnest(generate_series(1, 1000000000))
select * from pg_read_file('{canary}')
select * from dblink('host=127.0.0.1', 'select 1') as t(a int)
-- functions that do more than compute, or as much as the memory holds
select pg_read_file('{canary}')
select pg_ls_dir('/')
select lo_import('{canary}')
select pg_sleep(1000)
select pg_terminate_backend(1)
select set_config('x', 'y', false)
select current_setting('datafusion.execution.batch_size')
select nextval('s')
select load_extension('{canary}')
select system('touch {new}')
select xp_cmdshell('touch {new}')
select getenv('HOME')
select readfile('{canary}')
select writefile('{new}', 'x')
select repeat('x', 2000000000)
select array_repeat('x', 2000000000)
select array_resize([1], 2000000000, 1)
select range(1, 2000000000)
select generate_series(1, 2000000000)
select unnest(range(1, 2000000000))
-- other databases and catalogs
select * from edgemere.information_schema.tables
select * from edgemere.d.t
select * from datafusion.public.t
select * from other.d.t
select * from a.b.c.d
select * from pg_catalog.pg_tables
select * from sqlite_master
select * from system.tables
select * from d2.t
select * from public.t
-- settings and sessions
set datafusion.execution.batch_size = 1
set datafusion.execution.parquet.pushdown_filters to true
set time zone 'UTC'
set session characteristics as transaction read write
set role admin
reset datafusion.execution.batch_size
reset all
show all
show create table t
show functions
explain insert into t values (1)
explain analyze delete from t
explain (analyze) insert into t values (1)
explain analyze with x as (delete from t returning n) select * from x
explain select * into u from t
explain analyze select * from t for update
explain explain select 1
explain analyze explain select 1
explain show tables
explain select 1; drop table t
explain analyze select * from '{canary}'
explain copy t to '{new}'
explain analyze create table u as select 1
explain
describe insert into t values (1)
describe select * into u from t
describe with x as (delete from t returning n) select * from x
describe t; drop table t
describe "{canary}"
describe d.t.n.x
show columns from "{canary}"
show tables from "../d"
show tables where exists (select 1)
show tables; drop table t
insert into information_schema.tables values ('x')
delete from information_schema.columns
drop table information_schema.tables
select * from information_schema.df_settings
analyze t
analyze table t compute statistics
pragma database_list
pragma table_info('t')
vacuum
vacuum full t
optimize table t
checkpoint
kill 1
use d2
discard all
flush tables
cache table t
uncache table t
msck repair table t
-- prepared, called, done
prepare p as select 1
prepare p (int) as insert into t values ($1)
execute p
execute p (1)
execute immediate 'drop table t'
deallocate p
call p()
do $$ begin delete from t; end $$
declare c cursor for select * from t
fetch all from c
close c
open c
-- transactions, locks, rights, messages
begin
begin transaction
start transaction
commit
rollback
savepoint s
release savepoint s
lock table t
lock t in exclusive mode
unlock tables
select * from t for update
select * from t for share
select * from t for no key update skip locked
select * from (select * from t for update) x
grant select on t to public
grant all on all tables in schema d to r
revoke all on t from public
deny select on t to public
listen x
notify x, 'y'
unlisten *
-- several, and hidden ones
select 1; drop table t
select 1; select 2
; drop table t
select 1;; drop table t
drop table t; select 1
select 1 /* ; */ ; delete from t
select 1 -- x\n; drop table t
select '1'; drop table t; --'
select 1; -- nothing\n delete from t
select $$1$$; delete from t
select E'\\'; drop table t; --'
with x as (insert into t values (1) returning n) select * from x
with x as (delete from t returning *) select count(*) from x
with x as (update t set n = 1 returning *) select * from x
with x as (merge into t using t s on true when matched then delete returning *) select * from x
with x as (select 1) insert into t select * from x
with x as (select 1) update t set n = 1
with x as (select 1) delete from t
with x as (with y as (delete from t returning n) select * from y) select * from x
select (delete from t)
select * from (delete from t returning n) x
select * from (insert into t values (1)) x
select 1 union delete from t
values (1) union all delete from t
select * from t where exists (delete from t returning 1)
/* a comment */ drop table t
/*!50000 drop table t */
/* select 1 */ delete from t
/*+ hint */ insert into t values (1)
 -- a comment\ndelete from t
dRoP tAbLe t
drop\ttable\tt
ｄｒｏｐ table t
drop table t
select 1； drop table t
select 1\u{0}; drop table t
\u{feff}drop table t
EXEC('drop table t')
exec sp_executesql N'drop table t'
-- not SQL at all
get status
sql d select 1
run client () sql d select 1
blockchain drop policy
system ls
!rm -rf /
.read {canary}
\\! touch {new}
\\copy t to '{new}'
{"sql": "select 1"}
<script>alert(1)</script>
' or '1'='1

